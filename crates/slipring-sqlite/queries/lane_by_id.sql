-- Purpose: the queue, priority and cursor of a lane
-- Inputs: ?1 lane_id
-- Lock: none
-- Index: primary key of lane
SELECT queue_id, priority, cursor_seq FROM lane WHERE lane_id = ?1
