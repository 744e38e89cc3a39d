-- Purpose: how many loads of a queue are open
-- Inputs: ?1 queue_id
-- Lock: none
-- Index: load_queue
SELECT count(*) FROM load WHERE queue_id = ?1 AND state = 0
