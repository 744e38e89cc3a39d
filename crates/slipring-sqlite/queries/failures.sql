-- Purpose: the failures that are kept of an item
-- Inputs: ?1 id
-- Lock: none
-- Index: primary key of item
SELECT failures FROM item WHERE id = ?1
