-- Purpose: some lane of a queue
-- Inputs: ?1 queue_id
-- Lock: none
-- Index: lane_queue
SELECT lane_id FROM lane WHERE queue_id = ?1 LIMIT 1
