-- Purpose: begins a load
-- Inputs: $1 queue, $2 now_ms; $3 wait_ms, see functions/store/in_turn.sql
-- Lock: see functions/store/store_load_begin.sql
-- Index: see functions/store/store_load_begin.sql
SELECT slipring.store_load_begin(slipring.in_turn($1, $3), $2, 0)::bigint
FROM slipring.commit_flushed()
