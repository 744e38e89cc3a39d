-- Purpose: a number that is another one after every change of the list of queues: the number of
--   queues and when the settings of each were changed last, mixed; and on another server, which may
--   have lost the last changes in a failover
-- Inputs: none
-- Lock: none
-- Index: none, the whole table
SELECT count(*)
  + COALESCE(sum(hashint8extended(queue_id::int8, modified_ms) % 2147483647::int8), 0)::int8
  + ((extract(epoch FROM pg_postmaster_start_time()) * 1000)::int8 << 20)
FROM slipring.queue
