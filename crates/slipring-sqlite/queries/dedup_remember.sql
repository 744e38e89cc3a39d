-- Purpose: opens the window of a deduplication id
-- Inputs: ?1 queue_id, ?2 scope, ?3 dedup_id, ?4 message_id, ?5 until_ms, ?6 sent
-- Lock: the write lock, held by the transaction
-- Index: primary key of dedup
INSERT OR REPLACE INTO dedup (queue_id, scope, dedup_id, message_id, until_ms, sent)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
