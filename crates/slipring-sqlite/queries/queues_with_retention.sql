-- Purpose: the next queues that have a retention
-- Inputs: ?1 after this queue_id, ?2 at most so many
-- Lock: none
-- Index: queue_retention
SELECT queue_id, retention_ms
FROM queue
WHERE queue_id > ?1 AND retention_ms IS NOT NULL
ORDER BY queue_id
LIMIT ?2
