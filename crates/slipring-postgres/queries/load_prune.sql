-- Purpose: ends the oldest load that nobody goes on with
-- Inputs: $1 touched until, in ms; $2 wait_ms, see functions/in_turn.sql
-- Lock: see functions/store_load_prune.sql
-- Index: see functions/store_load_prune.sql
SELECT ended, next_ms FROM slipring.store_load_prune(slipring.in_turn($1, $2))
