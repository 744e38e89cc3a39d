-- Purpose: how many lanes of deleted queues are kept
-- Inputs: none
-- Lock: none
-- Index: lane_queue; there are few
SELECT count(*) FROM lane WHERE queue_id = 0
