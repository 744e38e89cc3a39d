-- Purpose: removes a deleted queue of which nothing is left
-- Inputs: ?1 queue_id
-- Lock: the write lock, held by the transaction
-- Index: primary key of queue
DELETE FROM queue WHERE queue_id = ?1 AND deleted = 1
