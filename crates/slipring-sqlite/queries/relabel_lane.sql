-- Purpose: gives a lane without messages to another priority of its queue
-- Inputs: ?1 lane_id, ?2 priority
-- Lock: the write lock, held by the transaction
-- Index: primary key of lane
UPDATE lane SET priority = ?2 WHERE lane_id = ?1
