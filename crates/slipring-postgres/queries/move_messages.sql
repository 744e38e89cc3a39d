-- Purpose: moves messages between queues
-- Inputs: $1 source, $2 target or NULL, $3 limit, $4 now_ms; $5 wait_ms, see functions/store/in_turn.sql
-- Lock: the source's, see functions/store/store_move.sql
-- Index: see functions/store/store_move.sql
SELECT queue::int8, moved::int8
FROM slipring.commit_flushed(),
  slipring.store_move(slipring.in_turn($1, $5), $2, $3, $4)
