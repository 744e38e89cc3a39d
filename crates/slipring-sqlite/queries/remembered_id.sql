-- Purpose: whether some deduplication id of a queue is remembered
-- Inputs: ?1 queue_id
-- Lock: none
-- Index: primary key of dedup
SELECT message_id FROM dedup WHERE queue_id = ?1 LIMIT 1
