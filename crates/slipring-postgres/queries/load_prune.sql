-- Purpose: ends the oldest load that nobody goes on with
-- Inputs: $1 touched until, in ms; $2 wait_ms, see functions/store/in_turn.sql
-- Lock: see functions/store/store_load_prune.sql
-- Index: see functions/store/store_load_prune.sql
SELECT ended, next_ms FROM slipring.store_load_prune(slipring.in_turn($1, $2))
