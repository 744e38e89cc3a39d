-- Purpose: moves chosen messages between queues
-- Inputs: $1 source, $2 target or NULL, $3 messages, $4 now_ms; $5 wait_ms, see
--   functions/store/in_turn.sql
-- Lock: the source's, see functions/store/store_move_chosen.sql
-- Index: see functions/store/store_move_chosen.sql
SELECT m.target::int8, m.error, m.error_message, m.error_context
FROM slipring.commit_flushed(),
  slipring.store_move_chosen(slipring.in_turn($1, $5), $2, $3, $4) AS m
ORDER BY m.n
