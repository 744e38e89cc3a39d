-- Purpose: what a queue holds
-- Inputs: $1 queue, $2 now_ms
-- Lock: none
-- Index: see functions/store/store_stats.sql
SELECT ready::int8, urgent::int8, delayed::int8, leased::int8, parked::int8, bytes::int8,
  oldest_ready_ms::int8,
  (SELECT count(*) FROM slipring.aside AS a WHERE a.queue_id = $1)::int8
FROM slipring.store_stats($1, $2)
