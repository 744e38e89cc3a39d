-- Purpose: ends a lease of the log
-- Inputs: ?1 first_position
-- Lock: the write lock, held by the transaction
-- Index: primary key of lease
DELETE FROM lease WHERE first_position = ?1
