-- Purpose: ends an open load
-- Inputs: $1 load; $2 wait_ms, see functions/store/in_turn.sql
-- Lock: see functions/store/store_load_abandon.sql
-- Index: see functions/store/store_load_abandon.sql
SELECT slipring.store_load_abandon(slipring.in_turn($1, $2))::text
FROM slipring.commit_flushed()
