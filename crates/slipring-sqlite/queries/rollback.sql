-- Purpose: ends a transaction and undoes what it did
-- Inputs: none
-- Lock: gives the write lock back
-- Index: none
ROLLBACK
