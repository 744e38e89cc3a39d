-- Purpose: one load
-- Inputs: ?1 load_id
-- Lock: none
-- Index: primary key of load
SELECT load_id, queue_id, state, parts, messages, bytes, begun_ms, touched_ms
FROM load
WHERE load_id = ?1
