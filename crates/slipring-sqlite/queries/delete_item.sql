-- Purpose: removes an item
-- Inputs: ?1 id
-- Lock: the write lock, held by the transaction
-- Index: primary key of item
DELETE FROM item WHERE id = ?1
