-- Purpose: the group of a FIFO queue with a name
-- Inputs: ?1 queue_id, ?2 name
-- Lock: none
-- Index: fifo_group_name
SELECT group_id FROM fifo_group WHERE queue_id = ?1 AND name = ?2
