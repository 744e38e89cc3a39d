-- Purpose: pages of the table and of its index that were looked at, in all.
-- Inputs: none.
-- Lock: none.
-- Index: none.
SELECT (coalesce(heap_blks_read, 0) + coalesce(heap_blks_hit, 0)
    + coalesce(idx_blks_read, 0) + coalesce(idx_blks_hit, 0))::bigint
FROM pg_statio_user_tables WHERE relname = 'ring'
