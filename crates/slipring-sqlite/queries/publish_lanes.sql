-- Purpose: gives the lanes of a load to its queue
-- Inputs: ?1 load_id, ?2 queue_id
-- Lock: the write lock, held by the transaction
-- Index: lane_queue
UPDATE lane SET queue_id = ?2 WHERE queue_id = ?1
