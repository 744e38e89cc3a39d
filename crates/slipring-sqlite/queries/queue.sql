-- Purpose: one queue with its settings
-- Inputs: ?1 queue_id
-- Lock: none
-- Index: primary key of queue
SELECT queue_id, name, settings, created_ms, modified_ms
FROM queue
WHERE queue_id = ?1 AND deleted = 0
