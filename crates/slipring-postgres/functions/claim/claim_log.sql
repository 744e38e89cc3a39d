-- Purpose: store_claim where all ready messages are in the log.
-- Inputs:  as store_claim; p_leased, how many messages with pictures are leased.
-- Lock:    the caller holds the queue's lock.
-- Index:   the partitions' order indexes, a range for each run of ids.
CREATE OR REPLACE FUNCTION slipring.claim_log(
    p_queue slipring.queue, p_state slipring.state, p_now_ms bigint, p_up_to int[],
    p_lease_ms bigint[], p_session boolean[], p_holder bigint, p_leased bigint)
RETURNS TABLE (demand int, id bigint, fence bigint, deadline_ms bigint, sent_ms bigint,
    priority bigint, attempts bigint, first_received_ms bigint, delay_ms bigint, lease_ms bigint,
    group_name text, dedup_id text, headers text, source text, body bytea, end_kind text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_from text := slipring.live_tables(p_queue, p_state);
    v_done int8multirange := slipring.cut(p_queue.xid_base);
    v_ends int[] := ARRAY(SELECT sum(greatest(u, 1)) OVER (ORDER BY n)
        FROM unnest(p_up_to) WITH ORDINALITY AS d(u, n) ORDER BY n);
    v_want bigint := v_ends[cardinality(v_ends)];
    v_room bigint := greatest(p_queue.in_flight_max - p_state.leased - p_leased, 0);
    v_can bigint := least(v_want, v_room);
    v_taken bigint := 0;
    v_bytes bigint := 0;
    v_more boolean := false;
    v_todo int8multirange;
    v_range int8range;
    v_read record;
    v_n bigint;
    v_demands int[];
    v_given record;
    v_open int8multirange[] := p_state.open;
BEGIN
    p_state.seq := p_state.seq + 1;
    FOR v_at IN 1..cardinality(p_state.lanes) LOOP
        v_todo := p_state.open[v_at] * v_done;
        FOR v_range IN SELECT unnest(v_todo) LOOP
            EXECUTE format('SELECT count(*) AS found, array_agg(id) AS ids, array_agg(bytes)
                AS sizes, CASE WHEN count(lease_ms) > 0 THEN array_agg(lease_ms) END AS own
                FROM (SELECT id, bytes, lease_ms FROM %s m LIMIT $4) m',
                slipring.log_rows(v_from, '$1', '$2', '$3'))
            INTO v_read USING p_state.lanes[v_at], lower(v_range), upper(v_range),
                v_can - v_taken + 1;
            v_n := slipring.claim_fits(v_read.sizes, least(v_read.found, v_can - v_taken),
                v_bytes);
            v_more := v_n < v_read.found;
            IF v_n > 0 THEN
                v_demands := ARRAY(SELECT width_bucket(v_taken::int + n - 1, v_ends)
                    FROM generate_series(1, v_n::int) n);
                v_given := slipring.lease_add(p_queue, p_state, p_now_ms, p_state.lanes[v_at],
                    int8multirange(v_range), v_read.ids[:v_n], v_read.sizes[:v_n],
                    v_read.own[:v_n], v_demands, p_lease_ms, p_session, p_holder);
                p_state := slipring.state_uncount(v_given.p_state, v_at, v_read.ids[:v_n],
                    v_read.sizes[:v_n]);
                RETURN QUERY EXECUTE format('SELECT $5[n], id, $6[n], $7[n], sent_ms,
                    coalesce(priority, lane & {{PRIORITY_MAX}}), 1::bigint, $8, 0::bigint, lease_ms, group_name,
                    dedup_id, headers, NULL::text, body, NULL::text
                    FROM (SELECT m.*, row_number() OVER () AS n FROM %s m LIMIT $4) m',
                    slipring.log_rows(v_from, '$1', '$2', '$3'))
                USING p_state.lanes[v_at], lower(v_range), upper(v_range), v_n, v_demands,
                    v_given.fences, v_given.deadlines, p_now_ms;
                v_taken := v_taken + v_n;
                v_bytes := v_bytes
                    + (SELECT sum(b) FROM unnest(v_read.sizes[:v_n]) b);
            END IF;
            v_open[v_at] := v_open[v_at] - int8multirange(int8range(lower(v_range), CASE
                WHEN NOT v_more THEN upper(v_range)
                WHEN v_n > 0 THEN v_read.ids[v_n] + 1 ELSE lower(v_range) END));
            EXIT WHEN v_more;
        END LOOP;
        EXIT WHEN v_more;
    END LOOP;
    IF v_taken > 0 THEN
        p_state.open := v_open;
        PERFORM slipring.state_write(p_queue, p_state);
    END IF;
    demand := 0;
    end_kind := CASE WHEN v_taken = v_want THEN 'more' WHEN NOT v_more THEN 'drained'
        WHEN v_taken = v_room THEN 'in_flight_limit' ELSE 'more' END;
    RETURN NEXT;
END $$;
