-- Purpose: replaces the settings of a queue
-- Inputs: ?1 queue_id, ?2 settings, ?3 now, ?4 paused, ?5 paused_until_ms, ?6 retention_ms
-- Lock: the write lock, held by the transaction
-- Index: primary key of queue
UPDATE queue
SET settings = ?2, modified_ms = ?3, paused = ?4, paused_until_ms = ?5, retention_ms = ?6
WHERE queue_id = ?1
