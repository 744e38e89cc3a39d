-- Purpose: store_claim where all ready messages are in the log and the receives have the same
--          terms: each lane is read once, and what it gives is one lease, answered as one row.
-- Inputs:  p_up_to of all receives, which in_flight_max has room for; their lease or null;
--          p_holder, the process with which the lease ends, or null.
-- Lock:    the caller holds the queue's lock.
-- Index:   see claim_read; lease's and state's indexes grow.
-- Answers: see store_claim. Nothing, and nothing is written, where messages of a lane have
--          different leases of their own: then others have to look message by message.
CREATE OR REPLACE FUNCTION slipring.claim_plain(
    p_queue slipring.queue, p_state slipring.state, p_now_ms bigint, p_up_to bigint,
    p_lease_ms bigint, p_holder bigint)
RETURNS TABLE (fence bigint, deadline_ms bigint, priority bigint, lease_ms bigint,
    end_kind text, ids bigint[], sents_ms bigint[], bodies bytea[], groups text[],
    dedup_ids text[], headers_each text[], ns int[], firsts bigint[], counts int[])
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_from text := slipring.live_tables(p_queue, p_state);
    v_done int8multirange := slipring.cut(p_queue.xid_base);
    v_left bigint := p_up_to;
    v_room bigint := {{CLAIM_BYTES_MAX}};
    v_more boolean := false;
    v_todo int8multirange;
    v_read slipring.lane_read;
    v_reads slipring.lane_read[];
    v_count int;
BEGIN
    FOR v_at IN 1..cardinality(p_state.lanes) LOOP
        v_todo := p_state.open[v_at] * v_done;
        CONTINUE WHEN isempty(v_todo);
        -- One read alone, the rule, is not copied into the array.
        IF v_read.total > 0 THEN
            v_reads := v_reads || v_read;
        END IF;
        v_read := slipring.claim_read(p_queue, p_state, v_from, v_at, v_todo, v_left, v_room);
        IF v_read.leases_differ THEN
            RETURN;
        END IF;
        v_more := v_read.ended;
        EXIT WHEN v_more;
        v_left := v_left - v_read.total;
        v_room := v_room - coalesce(v_read.bytes, 0);
    END LOOP;
    RETURN QUERY SELECT NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint,
        CASE WHEN v_more THEN 'more' ELSE 'drained' END, NULL::bigint[],
        NULL::bigint[], NULL::bytea[], NULL::text[], NULL::text[], NULL::text[], NULL::int[],
        NULL::bigint[], NULL::int[];
    IF v_reads IS NOT NULL AND v_read.total > 0 THEN
        v_reads := v_reads || v_read;
    END IF;
    v_count := coalesce(cardinality(v_reads), (v_read.total > 0)::int, 0);
    IF v_count = 0 THEN
        RETURN;
    END IF;
    p_state.seq := p_state.seq + 1;
    FOR v_n IN 1..v_count LOOP
        IF v_reads IS NOT NULL THEN
            v_read := v_reads[v_n];
        END IF;
        deadline_ms := p_now_ms
            + coalesce(p_lease_ms, v_read.lease_each, p_queue.visibility_timeout_ms);
        p_state := slipring.claim_lease(p_queue, p_state, v_read, p_now_ms, deadline_ms,
            p_holder);
        RETURN QUERY SELECT p_state.fence, deadline_ms,
            p_state.lanes[v_read.at] & {{PRIORITY_MAX}}, v_read.lease_each, NULL::text, v_read.ids, v_read.sents_ms, v_read.bodies,
            v_read.groups, v_read.dedup_ids, v_read.headers_each, v_read.ns, v_read.firsts,
            v_read.counts;
    END LOOP;
    PERFORM slipring.state_write(p_queue, p_state);
END $$;
