-- Purpose: a turn of a queue: ends leases that end with a process, as lapses; bounded as
--          store_expire_in.
-- Inputs:  p_queue; p_holder, the process; p_now_ms.
-- Lock:    the queue's.
-- Index:   item_holder; see lapse_queue.
-- Answers: a row for each queue in which messages became ready, and one without a queue where the turn was over
--          first; none when nothing is left to do.
CREATE OR REPLACE FUNCTION slipring.store_end_sessions(
    p_queue int, p_holder bigint, p_now_ms bigint)
RETURNS TABLE (queue int, ready bigint)
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
SET search_path = pg_catalog, slipring, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_queue slipring.queue := slipring.queue_lock(p_queue, false);
BEGIN
    IF v_queue.queue_id IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY SELECT p.queue, p.ready FROM slipring.lapse_queue(
        v_queue, p_now_ms, {{TURN_MESSAGES_MAX}},
        ARRAY(SELECT i.id FROM item i
            WHERE i.holder = p_holder AND i.queue_id = p_queue AND i.state = 2
            LIMIT {{TURN_MESSAGES_MAX}}),
        p_holder, true) p
    WHERE p.queue IS NOT NULL OR p.handled >= {{TURN_MESSAGES_MAX}};
END $$;
