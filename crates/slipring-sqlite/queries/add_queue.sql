-- Purpose: creates a queue
-- Inputs: ?1 queue_id, ?2 name, ?3 settings, ?4 now, ?5 fifo, ?6 paused, ?7 paused_until_ms, ?8
--   retention_ms
-- Lock: the write lock, held by the transaction
-- Index: primary key of queue
INSERT INTO queue (queue_id, name, settings, created_ms, modified_ms, fifo, paused, paused_until_ms,
    retention_ms)
VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6, ?7, ?8)
