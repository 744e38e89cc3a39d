-- Purpose: the number of each queue, when it was created, and when its settings changed last. Every
--   statement that changes settings raises modified_ms. After a failover lost settings may have had
--   the same times: each row also has the moment at which the server started
-- Inputs: none
-- Lock: none
-- Index: none, the whole table
SELECT queue_id::int8, created_ms::int8, modified_ms::int8,
  (extract(epoch FROM pg_postmaster_start_time()) * 1000)::int8
FROM slipring.queue
