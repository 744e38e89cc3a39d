-- Purpose: stores messages of one queue, unit by unit
-- Inputs: $1 queue, $2 now_ms, $3 messages of each unit, $4 bodies, $5 priorities, $6 delays_ms,
--   $7 leases_ms, $8 groups, $9 dedup_ids, $10 headers as JSON, $11 and $12 of packs
-- Lock: see functions/store/store_append.sql
-- Index: see functions/store/store_append.sql
SELECT id, duplicate, due_ms, error, error_message, error_context, ord
FROM slipring.store_append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
ORDER BY ord
