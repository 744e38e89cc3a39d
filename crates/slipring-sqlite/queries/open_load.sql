-- Purpose: some open load of a queue
-- Inputs: ?1 queue_id
-- Lock: none
-- Index: load_queue
SELECT load_id FROM load WHERE queue_id = ?1 AND state = 0 LIMIT 1
