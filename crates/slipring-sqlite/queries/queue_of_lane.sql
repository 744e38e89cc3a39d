-- Purpose: the queue of a lane
-- Inputs: ?1 lane_id
-- Lock: none
-- Index: primary key of lane
SELECT queue_id FROM lane WHERE lane_id = ?1
