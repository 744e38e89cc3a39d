-- Purpose: removes deduplication ids whose window has closed
-- Inputs: ?1 now, ?2 at most so many
-- Lock: the write lock, held by the transaction
-- Index: dedup_until
DELETE FROM dedup
WHERE (queue_id, scope, dedup_id) IN (
    SELECT queue_id, scope, dedup_id FROM dedup WHERE until_ms <= ?1 ORDER BY until_ms LIMIT ?2
)
