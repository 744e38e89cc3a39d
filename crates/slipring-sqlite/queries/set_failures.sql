-- Purpose: keeps the failures of an item
-- Inputs: ?1 id, ?2 failures, a JSON array
-- Lock: the write lock, held by the transaction
-- Index: primary key of item
UPDATE item SET failures = ?2 WHERE id = ?1
