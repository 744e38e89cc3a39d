-- Purpose: removes the messages between two positions
-- Inputs: ?1 first position, ?2 last position
-- Lock: the write lock, held by the transaction
-- Index: primary key of message
DELETE FROM message WHERE position BETWEEN ?1 AND ?2
