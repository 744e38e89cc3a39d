-- Purpose: which queues there are, and when each was made and its settings were changed last: whoever
--   writes settings raises modified_ms. After a failover both may be those of settings that were
--   lost, so the answer says since when the server runs
-- Inputs: none
-- Lock: none
-- Index: none, the whole table
SELECT queue_id::int8, created_ms::int8, modified_ms::int8,
  (extract(epoch FROM pg_postmaster_start_time()) * 1000)::int8
FROM slipring.queue
