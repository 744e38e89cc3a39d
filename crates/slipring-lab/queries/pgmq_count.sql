-- Purpose: how many messages a pgmq queue holds.
-- Inputs: $1 the queue.
-- Lock: none.
-- Index: none; it reads the table.
SELECT queue_length FROM pgmq.metrics($1::text)
