-- Purpose: ends an open load
-- Inputs: $1 load
-- Lock: see functions/store/store_load_abandon.sql
-- Index: see functions/store/store_load_abandon.sql
SELECT slipring.store_load_abandon($1)::text
FROM slipring.commit_flushed()
