-- Purpose: removes the counts of a deleted queue
-- Inputs: ?1 queue_id
-- Lock: the write lock, held by the transaction
-- Index: primary key of item_count
DELETE FROM item_count WHERE queue_id = ?1
