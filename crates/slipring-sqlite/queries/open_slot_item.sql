-- Purpose: gives an item of a slot its exact turn
-- Inputs: ?1 id
-- Lock: the write lock, held by the transaction
-- Index: primary key of item
UPDATE item SET turn = due_ms, due_ms = NULL WHERE id = ?1 AND due_ms IS NOT NULL
