-- Purpose: ends the leases that belong to connections of a holder
-- Inputs: $1 holder, $2 now_ms
-- Lock: the queues', one after the other, see functions/store_end_sessions.sql
-- Index: see functions/store_end_sessions.sql
SELECT queue::int8, ready::int8 FROM slipring.store_end_sessions($1, $2)
