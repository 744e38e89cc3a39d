-- Purpose: a turn of a queue: makes ready what is due (S5), and announces the end of its pause; at
--          most 1,000 messages and about 20 ms.
-- Inputs:  p_queue; p_now_ms.
-- Lock:    the queue's.
-- Index:   queue_pkey; see items_timed, items_passed.
-- Answers: a row for the queue when messages became ready, and one without a queue: when there is
--          more to do. Nothing where the queue is gone.
CREATE OR REPLACE FUNCTION slipring.store_due_in(p_queue int, p_now_ms bigint)
RETURNS TABLE (queue int, ready bigint, removed bigint, next_ms bigint)
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
SET search_path = pg_catalog, slipring, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_most CONSTANT int := {{TURN_MESSAGES_MAX}};
    v_step CONSTANT int := {{PICTURES_STEP}};
    v_queue slipring.queue := slipring.queue_lock(p_queue, false);
    v_mark slipring.mark := slipring.mark_read(p_queue, 0);
    v_done int8multirange;
    v_found slipring.item_picture[];
    v_ids bigint[];
    v_at int := 0;
    v_before bigint;
    v_began timestamptz := clock_timestamp();
BEGIN
    IF v_queue.queue_id IS NULL THEN
        RETURN;
    END IF;
    v_done := slipring.cut(v_queue.xid_base);
    v_found := ARRAY(SELECT i FROM slipring.items_timed(v_mark, p_now_ms, v_most) i);
    ready := 0;
    removed := 0;
    IF v_found <> '{}' THEN
        v_before := slipring.fifo_known(v_queue);
    END IF;
    WHILE v_at < cardinality(v_found) AND (v_at = 0 OR NOT slipring.turn_over(v_began)) LOOP
        v_ids := ARRAY(SELECT f.id FROM unnest(v_found[v_at + 1:v_at + v_step]) f);
        PERFORM slipring.item_set(v_queue, v_ids, array_fill(1, ARRAY[cardinality(v_ids)]),
            NULL, p_before => v_before);
        v_at := v_at + cardinality(v_ids);
    END LOOP;
    ready := v_at;
    IF v_queue.paused_until_ms <= p_now_ms AND NOT v_queue.pause_over THEN
        UPDATE slipring.queue q SET pause_over = true WHERE q.queue_id = p_queue;
        PERFORM nextval(v_queue.activity);
        ready := (SELECT s.ready FROM slipring.store_stats(p_queue, p_now_ms) s);
    END IF;
    IF ready > 0 THEN
        PERFORM slipring.tally_fold(v_queue);
        queue := p_queue;
        RETURN NEXT;
    END IF;
    queue := NULL;
    ready := 0;
    next_ms := least(CASE WHEN v_queue.paused_until_ms > p_now_ms AND NOT v_queue.pause_over
            THEN v_queue.paused_until_ms END,
        slipring.items_passed(v_mark, v_done, p_now_ms, v_most, v_found));
    IF next_ms < p_now_ms THEN
        next_ms := p_now_ms;
    END IF;
    RETURN NEXT;
END $$;
