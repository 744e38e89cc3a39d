-- Purpose: a turn of a queue: ends leases whose deadline has passed (S5.2, S6.2); at most 1,000
--          messages, 4 MiB and about 20 ms.
-- Inputs:  p_queue; p_now_ms.
-- Lock:    the queue's; see lapse_queue.
-- Index:   queue_pkey, state_newest; see items_timed, items_passed, lapse_queue.
-- Answers: as store_due_in; the dead-letter queue has a row as well.
CREATE OR REPLACE FUNCTION slipring.store_expire_in(p_queue int, p_now_ms bigint)
RETURNS TABLE (queue int, ready bigint, removed bigint, next_ms bigint)
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
SET search_path = pg_catalog, slipring, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_most CONSTANT bigint := {{TURN_MESSAGES_MAX}};
    v_queue slipring.queue := slipring.queue_lock(p_queue, false);
    v_mark slipring.mark := slipring.mark_read(p_queue, 2);
    v_done int8multirange;
    v_found slipring.item_picture[];
    v_part record;
    v_left bigint := v_most;
    v_busy boolean := false;
BEGIN
    IF v_queue.queue_id IS NULL THEN
        RETURN;
    END IF;
    v_done := slipring.cut(v_queue.xid_base);
    v_found := ARRAY(SELECT i FROM slipring.items_timed(v_mark, p_now_ms, v_most) i);
    removed := 0;
    FOR v_part IN SELECT * FROM slipring.lapse_queue(v_queue, p_now_ms, v_left,
        ARRAY(SELECT f.id FROM unnest(v_found) f), NULL,
        coalesce((slipring.state_read(v_queue)).lapse_ms <= p_now_ms, false)) LOOP
        IF v_part.queue IS NULL THEN
            v_left := v_left - v_part.handled;
            removed := v_part.removed;
            v_busy := v_part.busy;
        ELSE
            RETURN QUERY SELECT v_part.queue, v_part.ready, 0::bigint, NULL::bigint;
        END IF;
    END LOOP;
    next_ms := least((slipring.state_read(v_queue)).lapse_ms,
        slipring.items_passed(v_mark, v_done, p_now_ms, v_most, v_found));
    IF next_ms <= p_now_ms THEN
        -- A lease that waits for the end of a user's transaction is looked at again soon.
        next_ms := p_now_ms + CASE WHEN v_busy AND v_left > 0 THEN 100 ELSE 0 END;
    END IF;
    RETURN NEXT;
END $$;
