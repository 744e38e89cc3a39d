-- Purpose: makes a queue invisible for good; its messages are cleared away later
-- Inputs: ?1 queue_id
-- Lock: the write lock, held by the transaction
-- Index: primary key of queue
UPDATE queue
SET deleted = 1, paused_until_ms = NULL, retention_ms = NULL
WHERE queue_id = ?1 AND deleted = 0
