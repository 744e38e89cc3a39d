-- Purpose: removes what retention and deduplication windows allow to forget, at most 10,000
--          messages.
-- Inputs:  p_now_ms.
-- Lock:    the locks of queues with a retention, in the order of their numbers.
-- Index:   queue_retention, dedup_until; see remove_old.
-- Answers: as store_due.
CREATE OR REPLACE FUNCTION slipring.store_prune(p_now_ms bigint)
RETURNS TABLE (queue int, ready bigint, removed bigint, next_ms bigint, watermark bigint)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_queue slipring.queue;
    v_id int;
    v_left bigint := 10000;
    v_gone bigint;
    v_sum bigint := 0;
    v_first bigint;
BEGIN
    FOR v_id IN SELECT q.queue_id FROM slipring.queue q WHERE q.retention_ms IS NOT NULL
        ORDER BY q.queue_id LOOP
        EXIT WHEN v_left <= 0;
        v_queue := slipring.queue_lock(v_id, false);
        CONTINUE WHEN v_queue.retention_ms IS NULL;
        v_gone := slipring.remove_old(v_queue, p_now_ms - v_queue.retention_ms, v_left);
        v_left := v_left - v_gone;
        v_sum := v_sum + v_gone;
        IF v_queue.fifo AND v_gone > 0 THEN
            RETURN QUERY SELECT v_id, v_gone, 0::bigint, NULL::bigint, NULL::bigint;
        END IF;
        v_first := least(v_first, slipring.queue_oldest(v_queue) + v_queue.retention_ms);
    END LOOP;
    WITH old AS (
        SELECT d.queue_id, d.scope, d.dedup_id FROM slipring.dedup d
        WHERE d.until_ms <= p_now_ms ORDER BY d.until_ms LIMIT greatest(v_left, 0)
        FOR UPDATE SKIP LOCKED)
    DELETE FROM slipring.dedup d USING old o
    WHERE d.queue_id = o.queue_id AND d.scope = o.scope AND d.dedup_id = o.dedup_id;
    GET DIAGNOSTICS v_gone = ROW_COUNT;
    v_left := v_left - v_gone;
    removed := v_sum;
    next_ms := CASE WHEN v_left <= 0 THEN p_now_ms ELSE greatest(p_now_ms + 1000, least(v_first,
        (SELECT d.until_ms FROM slipring.dedup d ORDER BY d.until_ms LIMIT 1))) END;
    IF v_left > 0 AND v_first IS NULL AND NOT EXISTS (SELECT FROM slipring.dedup) THEN
        next_ms := NULL;
    END IF;
    RETURN NEXT;
END $$;
