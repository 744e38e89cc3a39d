-- Purpose: a deleted queue that is not cleared away yet
-- Inputs: none
-- Lock: none
-- Index: queue_deleted
SELECT queue_id FROM queue WHERE deleted = 1 ORDER BY queue_id LIMIT 1
