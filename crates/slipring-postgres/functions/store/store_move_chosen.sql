-- Purpose: moves chosen messages that are ready or parked to another queue, or each back to the
--          queue it was dead-lettered from (S6.7).
-- Inputs:  p_source; p_target or null; p_messages, at most 1,000; p_now_ms.
-- Lock:    the source's lock; the targets' rows against deletion.
-- Index:   item_picture_N_newest, queue_name; see log_cut_out.
-- Answers: entry by entry the queue it is in now, or an error.
CREATE OR REPLACE FUNCTION slipring.store_move_chosen(
    p_source int, p_target int, p_messages bigint[], p_now_ms bigint)
RETURNS TABLE (n int, target int, error text, error_message text, error_context jsonb)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
SET search_path = pg_catalog, slipring, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_source slipring.queue := slipring.queue_lock(p_source);
    v_state slipring.state;
    v_from text;
    v_row record;
    v_cut record;
    v_targets int[] := '{}';
    v_ids bigint[] := '{}';
    v_lanes bigint[] := '{}';
    v_logged bigint[] := '{}';
    v_to slipring.queue;
BEGIN
    IF p_target = p_source THEN
        PERFORM slipring.fail('SR007', 'source and target are the same queue; name two queues',
            jsonb_build_object('queue', v_source.name));
    END IF;
    v_state := slipring.acks_take(v_source, slipring.state_read(v_source), p_now_ms);
    v_from := slipring.live_tables(v_source, v_state);
    IF p_target IS NOT NULL THEN
        SELECT * INTO v_to FROM slipring.queue q WHERE q.queue_id = p_target FOR KEY SHARE;
        IF v_to.queue_id IS NULL THEN
            PERFORM slipring.queue_gone(p_target);
        END IF;
    END IF;
    FOR v_row IN
        SELECT u.n, u.id, row_number() OVER (PARTITION BY u.id ORDER BY u.n) AS nth, i.state,
            i.queue_id, i.source, coalesce(p_target, q.queue_id) AS target
        FROM unnest(p_messages) WITH ORDINALITY AS u(id, n)
        LEFT JOIN LATERAL slipring.item_now(u.id) i ON true
        LEFT JOIN slipring.queue q ON q.name = i.source AND q.queue_id <> p_source
        ORDER BY u.n
    LOOP
        n := v_row.n;
        target := NULL;
        error := NULL;
        error_message := NULL;
        IF v_row.queue_id <> p_source OR v_row.id < 0
            OR v_row.nth > 1 AND v_row.id = ANY (v_ids || v_logged) THEN
            error := 'message_gone';
        ELSIF v_row.state IN (0, 2) THEN
            error := 'wrong_state';
            error_message := CASE v_row.state WHEN 0 THEN 'delayed' ELSE 'leased' END;
        ELSIF v_row.state IS NOT NULL AND v_row.target IS NULL THEN
            error := 'queue_not_found';
        ELSIF v_row.state IS NOT NULL THEN
            target := v_row.target;
            v_targets := v_targets || target;
            v_ids := v_ids || v_row.id;
        ELSE
            BEGIN
                v_cut := slipring.log_cut_out(v_source, v_state, v_row.id);
                IF p_target IS NULL THEN
                    error := 'queue_not_found';
                ELSE
                    target := p_target;
                    v_state := v_cut.p_state;
                    v_lanes := v_lanes || v_cut.lane;
                    v_logged := v_logged || v_row.id;
                END IF;
            EXCEPTION
                WHEN SQLSTATE 'SR003' THEN
                    error := 'message_gone';
                WHEN SQLSTATE 'SR008' THEN
                    error := 'wrong_state';
                    error_message := 'leased';
            END;
        END IF;
        error_message := CASE error
            WHEN 'message_gone' THEN format('message %s is not in the queue any more', v_row.id)
            WHEN 'wrong_state' THEN format(
                'message %s is %s; only ready and parked messages are moved', v_row.id,
                error_message)
            WHEN 'queue_not_found' THEN CASE WHEN v_row.source IS NULL THEN format(
                'message %s was not dead-lettered; name a target', v_row.id) ELSE format(
                'message %s was dead-lettered from %s, which is not there any more; name a target',
                v_row.id, v_row.source) END END;
        error_context := jsonb_build_object('message', v_row.id);
        RETURN NEXT;
    END LOOP;
    IF v_logged <> '{}' THEN
        PERFORM slipring.log_to_items(v_from, v_to, v_lanes, v_logged,
            array_fill(1, ARRAY[cardinality(v_logged)]), NULL, NULL,
            array_fill(0::bigint, ARRAY[cardinality(v_logged)]),
            array_fill(0::bigint, ARRAY[cardinality(v_logged)]), NULL, NULL, NULL, NULL, true);
        v_state.seq := v_state.seq + 1;
        PERFORM slipring.state_write(v_source, v_state);
    END IF;
    FOR v_row IN
        SELECT u.target, array_agg(u.id ORDER BY u.id) AS ids
        FROM unnest(v_targets, v_ids) AS u(target, id) GROUP BY u.target ORDER BY u.target
    LOOP
        SELECT * INTO v_to FROM slipring.queue q WHERE q.queue_id = v_row.target FOR KEY SHARE;
        IF v_to.queue_id IS NULL THEN
            PERFORM slipring.queue_gone(v_row.target);
        END IF;
        PERFORM slipring.item_move(v_source, v_to, v_row.ids, NULL);
    END LOOP;
END $$;
