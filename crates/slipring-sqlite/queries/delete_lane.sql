-- Purpose: removes a lane without messages
-- Inputs: ?1 lane_id
-- Lock: the write lock, held by the transaction
-- Index: primary key of lane
DELETE FROM lane WHERE lane_id = ?1
