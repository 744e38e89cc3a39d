-- Purpose: ends leases whose deadline has passed (S5.2, S6.2); at most 10,000 messages and 500
--          queues.
-- Inputs:  p_now_ms; p_after_deadline_ms is not used: each queue's state says before when none of
--          its leases lapses.
-- Lock:    the locks of the queues concerned, in the order of their numbers.
-- Index:   queue_pkey with state_newest; see items_timed, items_passed, lapse_queue.
-- Answers: as store_due.
CREATE OR REPLACE FUNCTION slipring.store_expire(p_now_ms bigint, p_after_deadline_ms bigint)
RETURNS TABLE (queue int, ready bigint, removed bigint, next_ms bigint, watermark bigint)
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
SET search_path = pg_catalog, slipring, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_mark slipring.mark := slipring.mark_read(0, 2);
    v_done int8multirange := slipring.cut((SELECT s.xid_base FROM slipring.store s));
    v_found slipring.item_picture[];
    v_most bigint := 10000;
    v_row record;
    v_part record;
    v_left bigint := v_most;
    v_parked bigint := 0;
    v_busy boolean := false;
BEGIN
    v_found := ARRAY(SELECT i FROM slipring.items_timed(v_mark, p_now_ms, v_most) i);
    FOR v_row IN
        SELECT d.queue_id, bool_or(d.log) AS log, coalesce(array_agg(d.id)
            FILTER (WHERE d.id IS NOT NULL), '{}') AS ids
        FROM (
            SELECT l.queue_id, true AS log, NULL::bigint AS id FROM slipring.lapses() l
            WHERE l.lapse_ms <= p_now_ms
            UNION ALL
            SELECT f.queue_id, false, f.id FROM unnest(v_found) f) d
        GROUP BY d.queue_id ORDER BY d.queue_id
    LOOP
        BEGIN
            FOR v_part IN SELECT * FROM slipring.lapse_queue(v_row.queue_id, p_now_ms, v_left,
                v_row.ids, NULL, v_row.log) LOOP
                IF v_part.queue IS NULL THEN
                    -- A queue counts as twenty at least: each takes locks, of which the server
                    -- has only so many.
                    v_left := v_left - greatest(v_part.handled, 20);
                    v_parked := v_parked + v_part.removed;
                    v_busy := v_busy OR v_part.busy;
                ELSE
                    RETURN QUERY SELECT v_part.queue, v_part.ready, 0::bigint, NULL::bigint,
                        NULL::bigint;
                END IF;
            END LOOP;
        EXCEPTION WHEN unique_violation THEN
            -- Two messages of one number, which a transaction that resets its settings between
            -- two sends can make: the other queues go on.
            RAISE WARNING 'leases of queue % cannot be ended: %', v_row.queue_id, SQLERRM;
            v_busy := true;
        END;
        EXIT WHEN v_left <= 0;
    END LOOP;
    next_ms := least((SELECT min(l.lapse_ms) FROM slipring.lapses() l),
        slipring.items_passed(v_mark, v_done, p_now_ms, v_most, v_found));
    IF next_ms <= p_now_ms THEN
        -- A lease that waits for the end of a user's transaction is looked at again soon.
        next_ms := p_now_ms + CASE WHEN v_busy AND v_left > 0 THEN 100 ELSE 0 END;
    END IF;
    removed := v_parked;
    RETURN NEXT;
END $$;
