-- Purpose: how many messages of a pgmq queue are ready, and how many are not.
-- Inputs: $1 the queue.
-- Lock: none.
-- Index: none; it reads the table.
SELECT queue_visible_length, queue_length - queue_visible_length FROM pgmq.metrics($1::text)
