-- Purpose: ends a transaction and keeps what it did
-- Inputs: none
-- Lock: gives the write lock back
-- Index: none
COMMIT
