-- Purpose: a number that is another one after every change of the list of queues: the number of
--   queues and the transactions that wrote their rows, mixed
-- Inputs: none
-- Lock: none
-- Index: none, the whole table
SELECT (count(*) + COALESCE(sum(hashint8extended(queue_id, xmin::text::int8) % 2147483647), 0))::int8
FROM slipring.queue
