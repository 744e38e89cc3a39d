-- Purpose: removes items of a deleted queue
-- Inputs: ?1 queue_id, ?2 at most so many
-- Lock: the write lock, held by the transaction
-- Index: item_order
DELETE FROM item WHERE id IN (SELECT id FROM item WHERE queue_id = ?1 LIMIT ?2)
