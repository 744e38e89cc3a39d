-- Purpose: makes parked messages ready, or delayed ones when none is parked; answers how many
-- Inputs: $1 queue, $2 limit, $3 now_ms; $4 wait_ms, see functions/store/in_turn.sql
-- Lock: the queue's, see functions/store/store_kick.sql
-- Index: see functions/store/store_kick.sql
SELECT slipring.store_kick(slipring.in_turn($1, $4), $2, $3)::int8
FROM slipring.commit_flushed()
