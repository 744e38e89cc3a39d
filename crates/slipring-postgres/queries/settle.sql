-- Purpose: ends leases, entry by entry
-- Inputs: $1 queue, $2 now_ms, $3 messages, $4 fences, $5 kinds, $6 delays_ms, $7 priorities,
--   $8 jitter
-- Lock: the queue's, see functions/store_settle.sql
-- Index: see functions/store_settle.sql
SELECT outcome, until_ms::int8, target::int8, error, error_message, error_context::jsonb
FROM slipring.store_settle($1, $2, $3, $4, $5, $6, $7, $8)
ORDER BY ord
