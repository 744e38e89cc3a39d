-- Purpose: sets rows of a queue aside that cannot be what the store has written
-- Inputs: $1 queue, $2 now_ms; $3 wait_ms, see functions/store/in_turn.sql
-- Lock: the queue's, see functions/store/store_set_aside.sql
-- Index: see functions/aside/aside_rows.sql
SELECT a.kind, a.why, a.messages::int8
FROM slipring.store_set_aside(slipring.in_turn($1, $3), $2) AS a
