-- Purpose: the last failures of a message, as a JSON array; null where none is kept
-- Inputs: none
-- Lock: the write lock
-- Index: none; they are read with the item, after what is larger
ALTER TABLE item ADD COLUMN failures TEXT;
