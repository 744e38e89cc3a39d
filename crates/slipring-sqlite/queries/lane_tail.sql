-- Purpose: the last number that a lane has given
-- Inputs: ?1 lane_id
-- Lock: none
-- Index: primary key of lane
SELECT tail_seq FROM lane WHERE lane_id = ?1
