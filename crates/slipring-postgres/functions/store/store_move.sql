-- Purpose: moves ready and parked messages to another queue, or each back to the queue it was
--          dead-lettered from (S6.4); a bounded step.
-- Inputs:  p_source; p_target or null; p_limit; p_now_ms.
-- Lock:    the source's lock; the targets' rows against deletion.
-- Index:   the partitions' order indexes, see items_first; item_source, past pictures that are out of
--          date, where none of the first messages has a queue to go to.
-- Answers: queues that got some, with how many.
CREATE OR REPLACE FUNCTION slipring.store_move(
    p_source int, p_target int, p_limit int, p_now_ms bigint)
RETURNS TABLE (queue int, moved bigint)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
SET search_path = pg_catalog, slipring, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_source slipring.queue := slipring.queue_lock(p_source);
    v_target slipring.queue;
    v_name text;
    v_ids bigint[];
    v_left bigint := p_limit;
BEGIN
    IF p_target = p_source THEN
        PERFORM slipring.fail('SR007', 'source and target are the same queue; name two queues',
            jsonb_build_object('queue', v_source.name));
    END IF;
    PERFORM slipring.acks_take(v_source, slipring.state_read(v_source), p_now_ms);
    IF p_target IS NOT NULL THEN
        SELECT * INTO v_target FROM slipring.queue q WHERE q.queue_id = p_target FOR KEY SHARE;
        IF v_target.queue_id IS NULL THEN
            PERFORM slipring.queue_gone(p_target);
        END IF;
        moved := slipring.move_ready(v_source, v_target, v_left);
        v_ids := slipring.parked_take(v_source, v_left - moved);
        PERFORM slipring.item_move(v_source, v_target, v_ids, NULL);
        moved := moved + cardinality(v_ids);
        queue := p_target;
        IF moved > 0 THEN
            RETURN NEXT;
        END IF;
        RETURN;
    END IF;
    -- The first ones in their order, by source.
    FOR v_name, v_ids IN
        SELECT i.source, array_agg(i.id) FROM (
            SELECT i.source, i.id FROM unnest(ARRAY[1, 7, 8, 3]) WITH ORDINALITY AS u(kind, n)
            CROSS JOIN LATERAL slipring.items_first(slipring.mark_read(p_source, u.kind),
                '{[0,)}', p_limit) i
            ORDER BY u.n, i.turn, i.id LIMIT p_limit) i
        WHERE i.source IS NOT NULL GROUP BY i.source ORDER BY i.source
    LOOP
        SELECT * INTO v_target FROM slipring.queue q
        WHERE q.name = v_name AND q.queue_id <> p_source FOR KEY SHARE;
        CONTINUE WHEN v_target.queue_id IS NULL;
        PERFORM slipring.item_move(v_source, v_target, v_ids, NULL);
        v_left := v_left - cardinality(v_ids);
        RETURN QUERY SELECT v_target.queue_id, cardinality(v_ids)::bigint;
    END LOOP;
    IF v_left < p_limit THEN
        PERFORM slipring.tally_fold(v_source);
        RETURN;
    END IF;
    -- There may be others behind messages that have nowhere to go.
    v_name := NULL;
    LOOP
        v_name := (SELECT i.source FROM item i WHERE i.queue_id = p_source
            AND i.source > coalesce(v_name, '') ORDER BY i.source LIMIT 1);
        EXIT WHEN v_name IS NULL OR v_left <= 0;
        SELECT * INTO v_target FROM slipring.queue q
        WHERE q.name = v_name AND q.queue_id <> p_source FOR KEY SHARE;
        CONTINUE WHEN v_target.queue_id IS NULL;
        v_ids := ARRAY(SELECT i.id FROM item i
            WHERE i.queue_id = p_source AND i.source = v_name AND i.state IN (1, 3)
            ORDER BY i.state, i.turn, i.id LIMIT v_left);
        CONTINUE WHEN v_ids = '{}';
        PERFORM slipring.item_move(v_source, v_target, v_ids, NULL);
        v_left := v_left - cardinality(v_ids);
        RETURN QUERY SELECT v_target.queue_id, cardinality(v_ids)::bigint;
    END LOOP;
END $$;
