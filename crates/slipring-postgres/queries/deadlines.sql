-- Purpose: which queues have something to do and when, a part at a time
-- Inputs: $1 the queue to go on after, $2 how many queues to look at
-- Lock: none
-- Index: see functions/store/store_deadlines.sql
SELECT queue::int8, due_ms::int8, lapse_ms::int8 FROM slipring.store_deadlines($1, $2)
