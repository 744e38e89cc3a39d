-- Purpose: removes what a queue's retention allows to forget.
-- Inputs:  p_queue, p_now_ms; p_limit, at most how many messages.
-- Lock:    see queue_hold; the queue's lock only where there is something to remove,
--          see queue_try.
-- Index:   see queue_oldest and remove_old.
-- Answers: how many were removed, and when the next one's time comes, which is never in the past:
--          null when the queue is empty; no row when it keeps everything or is gone.
CREATE OR REPLACE FUNCTION slipring.store_prune(p_queue int, p_now_ms bigint, p_limit bigint)
RETURNS TABLE (removed bigint, next_ms bigint)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
SET search_path = pg_catalog, slipring, pg_temp AS $$
DECLARE
    v_queue slipring.queue := (SELECT q FROM slipring.queue q WHERE q.queue_id = p_queue);
    v_locked slipring.queue;
    v_oldest_ms bigint;
BEGIN
    IF v_queue.retention_ms IS NULL THEN
        RETURN;
    END IF;
    v_queue := slipring.queue_hold(p_queue);
    v_oldest_ms := slipring.queue_oldest(v_queue);
    removed := 0;
    IF v_oldest_ms <= p_now_ms - v_queue.retention_ms THEN
        v_locked := slipring.queue_try(p_queue,
            slipring.turn_wait(p_queue, p_now_ms, {{QUEUE_WAIT_MS}}));
        IF v_locked.queue_id IS NOT NULL THEN
            removed := slipring.remove_old(v_locked, p_now_ms - v_locked.retention_ms, p_limit,
                false);
            v_oldest_ms := slipring.queue_oldest(v_locked);
        END IF;
    END IF;
    next_ms := v_oldest_ms + v_queue.retention_ms;
    IF next_ms <= p_now_ms THEN
        -- What is left although its time has come is beyond p_limit, or in somebody's transaction,
        -- or somebody had the queue's lock.
        next_ms := p_now_ms + CASE WHEN removed = p_limit THEN 0 ELSE 1000 END;
    END IF;
    RETURN NEXT;
END $$;
