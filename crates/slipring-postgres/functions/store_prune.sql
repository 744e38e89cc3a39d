-- Purpose: removes what retention allows to forget, at most 10,000 messages.
-- Inputs:  p_now_ms.
-- Lock:    the locks of queues with a retention, in the order of their numbers.
-- Index:   queue_retention, dedup_until; see remove_old.
-- Answers: as store_due.
CREATE OR REPLACE FUNCTION slipring.store_prune(p_now_ms bigint)
RETURNS TABLE (queue int, ready bigint, removed bigint, next_ms bigint, watermark bigint)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
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
        IF v_gone > 0 THEN
            RETURN QUERY SELECT v_id, v_gone, 0::bigint, NULL::bigint, NULL::bigint;
        END IF;
        v_first := least(v_first, slipring.queue_oldest(v_queue) + v_queue.retention_ms);
    END LOOP;
    removed := v_sum;
    -- What windows that are over have left goes with its table; see rotate_dedup.
    v_first := least(v_first, (SELECT d.until_ms FROM slipring.dedup d
        WHERE d.until_ms > p_now_ms ORDER BY d.until_ms LIMIT 1));
    next_ms := CASE WHEN v_left <= 0 THEN p_now_ms
        WHEN v_first IS NOT NULL THEN greatest(p_now_ms + 1000, v_first) END;
    RETURN NEXT;
END $$;
