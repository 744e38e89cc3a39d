-- Purpose: stores messages; plain ones go to the log, others to the shelf.
-- Inputs:  p_queue; p_now_ms; p_units, how many messages each unit has; arrays with one entry for
--          each message. Of messages that are nothing but bodies, all of one priority and lease
--          and without delay, p_priorities has one entry, so have p_delays_ms and p_leases_ms
--          unless the queue's hold, the arrays from p_groups to p_headers are null, and bodies
--          may come as packs: p_ns and p_eachs_bytes, see message, null where none do.
-- Lock:    none. The queue's lock where a lane is new, which is only tried, or the queue has a limit: then a server
--          tries again after SEND_WAIT_MS. The entry of a deduplication id, see dedup_enter_soon.
-- Index:   queue_pkey; the partition's order index, those of the shelf and dedup_N_once grow.
-- Answers: message by message; or one row with ord 0 and the number of the first, the others
--          follow it without a gap.
CREATE OR REPLACE FUNCTION slipring.store_append(
    p_queue int, p_now_ms bigint, p_units int[], p_bodies bytea[], p_priorities bigint[],
    p_delays_ms bigint[], p_leases_ms bigint[], p_groups text[], p_dedup_ids text[],
    p_headers text[], p_ns int[], p_eachs_bytes int[])
RETURNS TABLE (ord int, id bigint, duplicate boolean, due_ms bigint, error text,
    error_message text, error_context jsonb)
LANGUAGE plpgsql
SET search_path = pg_catalog, slipring, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_queue slipring.queue;
    v_before bigint;
    v_refused jsonb[];
    v_first bigint[];
    v_over jsonb[];
    v_last int := cardinality(p_bodies);
BEGIN
    IF p_groups IS NULL THEN
        id := slipring.append_plain(p_queue, p_now_ms, p_bodies, p_priorities[1],
            p_delays_ms[1], p_leases_ms[1], p_ns, p_eachs_bytes);
        IF id IS NOT NULL THEN
            ord := 0;
            duplicate := false;
            RETURN NEXT;
            RETURN;
        END IF;
        p_bodies := slipring.pack_open(p_bodies, p_ns);
        v_last := cardinality(p_bodies);
        p_priorities := array_fill(p_priorities[1], ARRAY[v_last]);
        p_delays_ms := array_fill(p_delays_ms[1], ARRAY[v_last]);
        p_leases_ms := array_fill(p_leases_ms[1], ARRAY[v_last]);
        p_groups := array_fill(NULL::text, ARRAY[v_last]);
        p_dedup_ids := p_groups;
        p_headers := p_groups;
    END IF;
    SELECT * INTO v_queue FROM slipring.queue q WHERE q.queue_id = p_queue;
    IF v_queue.queue_id IS NULL THEN
        PERFORM slipring.queue_gone(p_queue);
    END IF;
    PERFORM slipring.commit_mode(v_queue.relaxed);
    v_before := slipring.id_take(v_queue, v_last);
    -- Before the queue's lock is taken: the wait for another sender of an id is not to be had with the lock.
    IF v_queue.dedup_window_ms > 0 AND cardinality(array_remove(p_dedup_ids, NULL)) > 0 THEN
        SELECT e.firsts, e.refused INTO v_first, v_refused FROM slipring.dedup_enter_soon(v_queue,
            p_now_ms, v_before, p_units, p_groups, p_dedup_ids) e;
    END IF;
    -- Where the queue's lock is taken, messages of a priority without a lane go to the shelf, as by SQL.
    IF NOT v_queue.fifo AND NOT slipring.lanes_of(v_queue, p_priorities) <@ v_queue.lanes
        AND cardinality(v_queue.lanes) < {{LANES_MAX}} AND slipring.queue_free(p_queue) THEN
        v_queue.lanes := slipring.lanes_learn(v_queue, p_priorities);
    END IF;
    IF v_queue.messages_max IS NOT NULL OR v_queue.bytes_max IS NOT NULL THEN
        PERFORM slipring.in_turn(p_queue, {{SEND_WAIT_MS}});
        v_over := slipring.append_refused(v_queue, p_now_ms, p_units, p_bodies, p_groups,
            p_dedup_ids, p_headers, v_before, v_first, v_refused);
        IF v_over IS NOT NULL THEN
            v_refused := ARRAY(SELECT coalesce(v_refused[n], v_over[n]) FROM generate_series(1, v_last) n
                ORDER BY n);
        END IF;
        IF v_over IS NOT NULL AND v_first IS NOT NULL THEN
            v_first := slipring.dedup_leave(v_queue, p_now_ms, v_before, p_groups, p_dedup_ids,
                v_refused);
        END IF;
    END IF;
    PERFORM slipring.append_rows(v_queue, p_now_ms, v_before, p_bodies, p_priorities,
        p_delays_ms, p_leases_ms, p_groups, p_dedup_ids, p_headers, v_refused, v_first);
    IF v_refused IS NULL AND v_first IS NULL THEN
        RETURN QUERY SELECT n::int, v_before + n, false, CASE WHEN coalesce(
                p_delays_ms[n], v_queue.delay_ms) > 0
            THEN p_now_ms + coalesce(p_delays_ms[n], v_queue.delay_ms) END,
            NULL::text, NULL::text, NULL::jsonb
        FROM generate_series(1, v_last) n;
        RETURN;
    END IF;
    RETURN QUERY SELECT n::int, coalesce(v_first[n], v_before + n),
        coalesce(v_first[n] <> v_before + n, false),
        CASE WHEN coalesce(p_delays_ms[n], v_queue.delay_ms) > 0
                AND coalesce(v_first[n] = v_before + n, true)
            THEN p_now_ms + coalesce(p_delays_ms[n], v_queue.delay_ms) END,
        CASE WHEN v_refused[n] IS NOT NULL THEN coalesce(v_refused[n] ->> 'error', 'limit_exceeded') END,
        CASE WHEN v_refused[n] IS NOT NULL THEN coalesce(v_refused[n] ->> 'text',
            format('%s is %s, but %s was asked for', v_refused[n] ->> 'limit',
                v_refused[n] ->> 'limit_value', v_refused[n] ->> 'asked')) END,
        v_refused[n]
    FROM generate_series(1, v_last) n;
END $$;
