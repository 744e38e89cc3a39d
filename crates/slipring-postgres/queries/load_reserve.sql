-- Purpose: reserves numbers for parts of a load
-- Inputs: $1 load, $2 blocks of parts
-- Lock: see functions/store/store_load_reserve.sql
-- Index: see functions/store/store_load_reserve.sql
SELECT slipring.store_load_reserve($1, $2)::text
