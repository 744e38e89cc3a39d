-- Purpose: a number that is another one after every change of the list of queues: the number of
--   queues and the transactions that wrote their rows, mixed; and on another server, which may
--   have given the same numbers to other queues after a failover
-- Inputs: none
-- Lock: none
-- Index: none, the whole table
SELECT count(*)
  + COALESCE(sum(hashint8extended(queue_id::int8, xmin::text::int8) % 2147483647::int8), 0)::int8
  + ((extract(epoch FROM pg_postmaster_start_time()) * 1000)::int8 << 20)
FROM slipring.queue
