-- Purpose: the first message with a deduplication id, if its window is open, and whether a purge has
--   ended that for messages which are not there any more
-- Inputs: ?1 queue_id, ?2 scope, ?3 dedup_id, ?4 now, ?5 ids_from of the queue
-- Lock: none
-- Index: primary key of dedup
SELECT message_id, sent < ?5
FROM dedup
WHERE queue_id = ?1 AND scope = ?2 AND dedup_id = ?3 AND until_ms > ?4
