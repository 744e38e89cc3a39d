-- Purpose: removes the loads of a queue that is deleted
-- Inputs: ?1 queue_id
-- Lock: the write lock, held by the transaction
-- Index: load_queue
DELETE FROM load WHERE queue_id = ?1
