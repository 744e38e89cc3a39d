-- Purpose: store_peek at one moment.
-- Inputs:  p_queue as queue_hold has read it; the rest as store_peek.
-- Lock:    none; one snapshot.
-- Index:   item_order, the partitions' order indexes; see lease_open for leased ones.
CREATE OR REPLACE FUNCTION slipring.queue_peek(
    p_queue slipring.queue, p_state text, p_limit int)
RETURNS TABLE (queue int, id bigint, sent_ms bigint, priority bigint, attempts bigint,
    first_received_ms bigint, delay_ms bigint, lease_ms bigint, group_name text, dedup_id text,
    headers text, source text, body bytea, state text, until_ms bigint,
    failures jsonb)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    v_state slipring.state := slipring.state_read(p_queue);
    v_name text;
    v_log record;
    v_row record;
    v_left bigint := p_limit;
    v_bytes bigint := 0;
BEGIN
    FOREACH v_name IN ARRAY ARRAY['ready', 'delayed', 'leased', 'parked'] LOOP
        CONTINUE WHEN v_name <> p_state OR v_left <= 0 OR v_bytes >= {{PEEK_BYTES_MAX}};
        SELECT NULL::bigint[] AS lanes, NULL::bigint[] AS ids, NULL::bigint[] AS leased,
            NULL::bigint[] AS untils INTO v_log;
        IF v_name = 'ready' THEN
            SELECT array_agg(v_state.lanes[f.at] ORDER BY f.at, f.id) AS lanes,
                array_agg(f.id ORDER BY f.at, f.id) AS ids, NULL::bigint[] AS leased,
                NULL::bigint[] AS untils
            INTO v_log FROM slipring.log_feed(p_queue, v_state,
                '{[0,{{BIGINT_MAX}})}', v_left) f;
        ELSIF v_name = 'leased' THEN
            SELECT array_agg(l.lane) AS lanes, array_agg(l.id) AS ids,
                array_agg(l.leased_ms) AS leased, array_agg(l.deadline_ms) AS untils
            INTO v_log FROM slipring.leased_log(p_queue, v_state, v_left) l;
        END IF;
        FOR v_row IN
            SELECT * FROM slipring.log_show(p_queue, v_state, v_log.lanes, v_log.ids,
                v_log.leased, v_log.untils)
            UNION ALL
            SELECT * FROM slipring.peek_items(p_queue.queue_id, array_position(
                ARRAY['delayed', 'ready', 'leased', 'parked'], v_name) - 1, v_left)
            ORDER BY rank, id LIMIT v_left
        LOOP
            -- Where one of the two has ended for its size, this ends before it is missed.
            EXIT WHEN v_bytes >= {{PEEK_BYTES_MAX}};
            v_bytes := v_bytes + v_row.bytes;
            v_left := v_left - 1;
            RETURN QUERY SELECT v_row.queue, v_row.id, v_row.sent_ms, v_row.priority,
                v_row.attempts, v_row.first_received_ms, v_row.delay_ms, v_row.lease_ms,
                v_row.group_name, v_row.dedup_id, v_row.headers, v_row.source, v_row.body,
                v_row.state, v_row.until_ms, v_row.failures;
        END LOOP;
    END LOOP;
END $$;
