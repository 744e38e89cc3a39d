-- Purpose: removes a group that has no messages
-- Inputs: ?1 group_id
-- Lock: the write lock, held by the transaction
-- Index: primary key of fifo_group
DELETE FROM fifo_group WHERE group_id = ?1
