-- Purpose: all loads, by number
-- Inputs: none
-- Lock: none
-- Index: primary key of load
SELECT load_id, queue_id, state, parts, messages, bytes, begun_ms, touched_ms
FROM load
ORDER BY load_id
