-- Purpose: ends the leases that begin between two positions
-- Inputs: ?1 first position, ?2 last position
-- Lock: the write lock, held by the transaction
-- Index: primary key of lease
DELETE FROM lease WHERE first_position BETWEEN ?1 AND ?2
