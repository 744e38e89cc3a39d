-- Purpose: sends messages by SQL that need more than a row of the log.
-- Inputs:  the queue's name; arrays with one entry for each message.
-- Lock:    none; the entries of deduplication ids. A queue's limits are checked without a lock, so
--          transactions that are open at the same time may pass them together.
-- Index:   queue_name; see append_rows, dedup_enter and store_stats.
-- Answers: the numbers.
CREATE OR REPLACE FUNCTION slipring.send_rows(
    p_queue text, p_bodies bytea[], p_priorities bigint[], p_delays_ms bigint[],
    p_groups text[], p_dedup_ids text[], p_headers text[])
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    v_queue slipring.queue := slipring.queue_named(p_queue);
    v_now_ms bigint := slipring.now_ms();
    v_last int := cardinality(p_bodies);
    v_before bigint;
    v_first bigint[];
    v_stats record;
    v_new bigint := 0;
BEGIN
    FOR n IN 1..v_last LOOP
        PERFORM slipring.message_check(v_queue, p_bodies[n], p_priorities[n], p_groups[n],
            p_dedup_ids[n], p_headers[n]);
        v_new := v_new + octet_length(p_bodies[n]) + slipring.headers_bytes(p_headers[n])
            + coalesce(octet_length(p_groups[n]), 0)
            + coalesce(octet_length(p_dedup_ids[n]), 0);
    END LOOP;
    IF v_queue.messages_max IS NOT NULL OR v_queue.bytes_max IS NOT NULL THEN
        SELECT * INTO v_stats FROM slipring.store_stats(v_queue.queue_id, v_now_ms);
        v_last := v_last + v_stats.ready + v_stats.delayed + v_stats.leased + v_stats.parked;
        v_new := v_new + v_stats.bytes;
        IF v_last > v_queue.messages_max THEN
            PERFORM slipring.fail_limit(v_queue, 'messages_max', v_queue.messages_max, v_last);
        ELSIF v_new > v_queue.bytes_max THEN
            PERFORM slipring.fail_limit(v_queue, 'bytes_max', v_queue.bytes_max, v_new);
        END IF;
    END IF;
    v_before := slipring.id_take(v_queue, cardinality(p_bodies));
    IF v_queue.dedup_window_ms > 0 AND cardinality(array_remove(p_dedup_ids, NULL)) > 0 THEN
        v_first := slipring.dedup_enter(v_queue, v_now_ms, v_before, p_groups, p_dedup_ids,
            NULL);
    END IF;
    PERFORM slipring.append_rows(v_queue, v_now_ms, v_before, p_bodies, p_priorities,
        p_delays_ms, NULL, p_groups, p_dedup_ids, p_headers, NULL, v_first);
    RETURN ARRAY(SELECT coalesce(v_first[n], v_before + n)
        FROM generate_series(1, cardinality(p_bodies)) n ORDER BY n);
END $$;
