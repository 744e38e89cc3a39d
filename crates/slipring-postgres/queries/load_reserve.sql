-- Purpose: reserves numbers for parts of a load
-- Inputs: $1 load, $2 blocks of parts; $3 wait_ms, see functions/store/in_turn.sql
-- Lock: see functions/store/store_load_reserve.sql
-- Index: see functions/store/store_load_reserve.sql
SELECT slipring.store_load_reserve(slipring.in_turn($1, $3), $2)::text
