-- Purpose: sends messages by SQL that need more than a row of the log.
-- Inputs:  the queue's name; arrays with one entry for each message.
-- Lock:    none; the entries of deduplication ids. A queue's limits are checked without a lock, so
--          transactions that are open at the same time may pass them together.
-- Index:   queue_name, once more where there are deduplication ids; see append_rows, append_fits, dedup_enter and store_stats.
-- Answers: the numbers.
CREATE OR REPLACE FUNCTION slipring.send_rows(
    p_queue text, p_bodies bytea[], p_priorities bigint[], p_delays_ms bigint[],
    p_groups text[], p_dedup_ids text[], p_headers text[])
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    v_queue slipring.queue := slipring.queue_named(p_queue, 'producer');
    v_id int := v_queue.queue_id;
    v_now_ms bigint := slipring.now_ms();
    v_last int := cardinality(p_bodies);
    v_before bigint;
    v_first bigint[];
    v_over jsonb;
    v_bytes bigint := (SELECT sum(octet_length(b)) FROM unnest(p_bodies) b);
BEGIN
    IF v_last > 1 AND v_bytes > {{BATCH_BYTES_MAX}} THEN
        PERFORM slipring.fail_limit(v_queue.name, 'batch_bytes_max', {{BATCH_BYTES_MAX}}, v_bytes);
    END IF;
    FOR n IN 1..v_last LOOP
        PERFORM slipring.message_check(v_queue, p_bodies[n], p_priorities[n], p_groups[n],
            p_dedup_ids[n], p_headers[n], CASE WHEN v_last > 1 THEN n - 1 END);
    END LOOP;
    v_before := slipring.id_take(v_queue, v_last);
    IF v_queue.dedup_window_ms > 0 AND cardinality(array_remove(p_dedup_ids, NULL)) > 0 THEN
        v_first := slipring.dedup_enter(v_queue, v_now_ms, v_before, p_groups, p_dedup_ids,
            NULL);
        -- It may have waited for others for long: the limits are those of now. Another queue may have the name.
        SELECT * INTO v_queue FROM slipring.queue q WHERE q.queue_id = v_id;
        IF v_queue.queue_id IS NULL THEN
            PERFORM slipring.queue_gone(v_id, p_queue);
        END IF;
    END IF;
    IF v_queue.messages_max IS NOT NULL OR v_queue.bytes_max IS NOT NULL THEN
        SELECT f.p_over INTO v_over FROM slipring.store_stats(v_queue.queue_id, v_now_ms) s,
            slipring.append_fits(v_queue, v_before, 1, v_last, p_bodies, p_groups, p_dedup_ids,
                p_headers, v_first, s.ready + s.delayed + s.leased + s.parked, s.bytes, '{}') f;
        IF v_over IS NOT NULL THEN
            PERFORM slipring.fail_limit(v_queue.name, v_over ->> 'limit',
                (v_over ->> 'limit_value')::bigint, (v_over ->> 'asked')::bigint,
                CASE WHEN v_last > 1 THEN (v_over ->> 'index')::int END);
        END IF;
    END IF;
    PERFORM slipring.append_rows(v_queue, v_now_ms, v_before, p_bodies, p_priorities,
        p_delays_ms, NULL, p_groups, p_dedup_ids, p_headers, NULL, v_first);
    RETURN ARRAY(SELECT coalesce(v_first[n], v_before + n)
        FROM generate_series(1, cardinality(p_bodies)) n ORDER BY n);
END $$;
