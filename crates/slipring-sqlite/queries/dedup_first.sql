-- Purpose: the first message with a deduplication id, if its window is open
-- Inputs: ?1 queue_id, ?2 scope, ?3 dedup_id, ?4 now, ?5 ids_from of the queue
-- Lock: none
-- Index: primary key of dedup
SELECT message_id
FROM dedup
WHERE queue_id = ?1 AND scope = ?2 AND dedup_id = ?3 AND until_ms > ?4 AND sent >= ?5
