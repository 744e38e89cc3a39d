-- Purpose: which queues forget messages, and when windows of deduplication ids end.
-- Inputs:  p_now_ms.
-- Lock:    none.
-- Index:   queue_retention; item_sent, one step in each slot for each queue; dedup_until.
-- Answers: for each queue with a retention how long that is, and whether the shelf may have
--          something that is older: it has, or had since its last rotation. Messages come there
--          from other queues at any age, while the log only has what was sent to this one. In a
--          row without a queue, as its retention, how long until the next window is over.
CREATE OR REPLACE FUNCTION slipring.retentions(p_now_ms bigint)
RETURNS TABLE (queue int, retention_ms bigint, shelved boolean)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
SET search_path = pg_catalog, slipring, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT q.queue_id, q.retention_ms, EXISTS (
        SELECT FROM item_picture p
        WHERE p.queue_id * 2::bigint = q.queue_id * 2::bigint
            AND p.state + 2 < 6 AND p.sent_ms <= p_now_ms - q.retention_ms)
    FROM slipring.queue q WHERE q.retention_ms IS NOT NULL;
    RETURN QUERY SELECT NULL::int, d.until_ms - p_now_ms, false FROM slipring.dedup d
    WHERE d.until_ms > p_now_ms ORDER BY d.until_ms LIMIT 1;
END $$;
