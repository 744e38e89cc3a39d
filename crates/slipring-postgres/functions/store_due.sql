-- Purpose: makes ready what is due (S5), and announces the ends of pauses; at most 10,000 messages
--          and 500 queues.
-- Inputs:  p_now_ms; p_hint_queues is not used: what waits is found by its due time.
-- Lock:    the locks of the queues concerned, in the order of their numbers.
-- Index:   see items_timed, items_passed; queue_pause.
-- Answers: a row for each queue in which messages became ready, and one without a queue: when
--          there is more to do.
CREATE OR REPLACE FUNCTION slipring.store_due(p_now_ms bigint, p_hint_queues int[])
RETURNS TABLE (queue int, ready bigint, removed bigint, next_ms bigint, watermark bigint)
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
SET search_path = pg_catalog, slipring, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_mark slipring.mark := slipring.mark_read(0, 0);
    v_done int8multirange := slipring.cut((SELECT s.xid_base FROM slipring.store s));
    v_found slipring.item_picture[];
    v_row record;
    v_queue slipring.queue;
    v_most bigint := 10000;
    v_ids bigint[];
    -- Each queue takes locks, of which the server has only so many.
    v_queues int := 500;
BEGIN
    v_found := ARRAY(SELECT i FROM slipring.items_timed(v_mark, p_now_ms, v_most) i);
    FOR v_row IN
        SELECT d.queue_id, array_agg(d.id) AS ids FROM unnest(v_found) d
        GROUP BY d.queue_id ORDER BY d.queue_id
    LOOP
        EXIT WHEN v_queues = 0;
        v_queues := v_queues - 1;
        v_queue := slipring.queue_lock(v_row.queue_id, false);
        CONTINUE WHEN v_queue.queue_id IS NULL;
        v_ids := ARRAY(SELECT i.id FROM unnest(v_row.ids) u
            CROSS JOIN LATERAL slipring.item_now(u) i
            WHERE i.queue_id = v_row.queue_id AND i.state = 0 AND i.turn <= p_now_ms);
        CONTINUE WHEN v_ids = '{}';
        PERFORM slipring.item_set(v_queue, v_ids, array_fill(1, ARRAY[cardinality(v_ids)]),
            NULL, p_before => slipring.fifo_known(v_queue));
        PERFORM slipring.tally_fold(v_queue);
        RETURN QUERY SELECT v_row.queue_id, cardinality(v_ids)::bigint, 0::bigint, NULL::bigint,
            NULL::bigint;
    END LOOP;
    FOR v_row IN
        UPDATE slipring.queue q SET pause_over = true
        WHERE q.paused_until_ms <= p_now_ms AND NOT q.pause_over RETURNING q.queue_id, q.activity
    LOOP
        PERFORM nextval(v_row.activity);
        RETURN QUERY SELECT v_row.queue_id, s.ready, 0::bigint, NULL::bigint, NULL::bigint
        FROM slipring.store_stats(v_row.queue_id, p_now_ms) s WHERE s.ready > 0;
    END LOOP;
    next_ms := least(
        (SELECT min(q.paused_until_ms) FROM slipring.queue q
         WHERE q.paused_until_ms IS NOT NULL AND NOT q.pause_over),
        slipring.items_passed(v_mark, v_done, p_now_ms, v_most, v_found));
    IF next_ms < p_now_ms THEN
        next_ms := p_now_ms;
    END IF;
    removed := 0;
    RETURN NEXT;
END $$;
