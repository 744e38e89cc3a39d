-- Purpose: takes a lane that a deleted queue has left
-- Inputs: ?1 queue_id, ?2 priority or null
-- Lock: the write lock, held by the transaction
-- Index: lane_queue, then the primary key of lane
UPDATE lane SET queue_id = ?1, priority = ?2
WHERE lane_id = (SELECT lane_id FROM lane WHERE queue_id = 0 LIMIT 1)
RETURNING lane_id, tail_seq
