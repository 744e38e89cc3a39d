-- Purpose: begins a load
-- Inputs: $1 queue, $2 now_ms
-- Lock: see functions/store/store_load_begin.sql
-- Index: see functions/store/store_load_begin.sql
SELECT slipring.store_load_begin($1, $2, 0)::bigint
FROM slipring.commit_flushed()
