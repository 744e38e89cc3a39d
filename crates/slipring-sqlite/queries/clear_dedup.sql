-- Purpose: removes deduplication ids of a deleted queue
-- Inputs: ?1 queue_id, ?2 at most so many
-- Lock: the write lock, held by the transaction
-- Index: primary key of dedup
DELETE FROM dedup
WHERE (queue_id, scope, dedup_id) IN (
    SELECT queue_id, scope, dedup_id FROM dedup WHERE queue_id = ?1 LIMIT ?2
)
