-- Purpose: the number of the queue with a name
-- Inputs: ?1 name
-- Lock: none
-- Index: queue_name
SELECT queue_id FROM queue WHERE name = ?1 AND deleted = 0
