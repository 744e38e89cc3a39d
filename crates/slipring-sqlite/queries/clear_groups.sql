-- Purpose: removes groups of a deleted queue
-- Inputs: ?1 queue_id, ?2 at most so many
-- Lock: the write lock, held by the transaction
-- Index: fifo_group_name
DELETE FROM fifo_group
WHERE group_id IN (SELECT group_id FROM fifo_group WHERE queue_id = ?1 LIMIT ?2)
