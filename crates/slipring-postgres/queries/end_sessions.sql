-- Purpose: ends leases of a queue that belong to connections of a holder
-- Inputs: $1 queue, $2 holder, $3 now_ms; $4 wait_ms, see functions/store/in_turn.sql
-- Lock: the queue's, see functions/store/store_end_sessions.sql
-- Index: see functions/store/store_end_sessions.sql
SELECT s.queue::int8, s.ready::int8
FROM slipring.store_end_sessions(slipring.in_turn($1, $4), $2, $3) AS s
