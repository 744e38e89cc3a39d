-- Purpose: the load that was not touched for longest
-- Inputs: none
-- Lock: none
-- Index: load_touched
SELECT load_id, state, touched_ms FROM load ORDER BY touched_ms LIMIT 1
