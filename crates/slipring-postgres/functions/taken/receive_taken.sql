-- Purpose: hands out ready messages of the log without the queue's lock: a transaction that stays
--          open keeps others from the messages it was handed and from no others. The state learns of
--          it from whoever has the queue's lock next, see taken_read.
-- Inputs:  p_queue, a standard one; p_now_ms; p_n; p_lease_ms or null; p_asked, whether the transaction
--          has asked that it may be done, see taken_ask.
-- Lock:    see taken_apart and queue_hold.
-- Index:   see items_count, taken_apart, claim_read, taken_next; lease's indexes grow by one entry for each lane.
-- Answers: see store_claim, always with a last row. No row, and nothing is written, where it may not
--          be done so: no receive has done so lately (see taken_may), or in_flight_max is near. A hundred
--          others may be about to do the same.
CREATE OR REPLACE FUNCTION slipring.receive_taken(
    p_queue slipring.queue, p_now_ms bigint, p_n bigint, p_lease_ms bigint,
    p_asked boolean DEFAULT false)
RETURNS TABLE (demand int, id bigint, fence bigint, deadline_ms bigint, sent_ms bigint,
    priority bigint, attempts bigint, first_received_ms bigint, delay_ms bigint, lease_ms bigint,
    group_name text, dedup_id text, headers text, source text, body bytea, end_kind text,
    ids bigint[], sents_ms bigint[], bodies bytea[], groups text[], dedup_ids text[],
    headers_each text[], ns int[], firsts bigint[], counts int[], place bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_state slipring.state;
    v_room bigint := {{CLAIM_BYTES_MAX}};
    v_left bigint;
    v_n bigint;
    v_most bigint := p_queue.in_flight_max - (slipring.items_count(p_queue.queue_id)).leased;
    v_from text;
    v_fence bigint;
    v_deadline bigint;
    v_read slipring.lane_read;
BEGIN
    SELECT s.taken, s.taken_journal, s.leased
    INTO v_state.taken, v_state.taken_journal, v_state.leased
    FROM state s WHERE s.queue_id = p_queue.queue_id ORDER BY s.seq DESC LIMIT 1;
    IF NOT (p_asked OR slipring.taken_may(v_state)) THEN
        v_state := slipring.state_read(p_queue);
    END IF;
    -- As many receives may be handed so many beside each other.
    v_n := least(p_n, (v_most - v_state.leased) / {{IN_FLIGHT_NEAR}});
    IF 4 * v_n >= p_n AND (p_asked OR slipring.taken_may(v_state)) THEN
        FOR v_try IN 1..2 LOOP
            v_state := slipring.offer_apart(p_queue, p_now_ms, v_n);
            EXIT WHEN v_state.queue_id IS NOT NULL;
        END LOOP;
        IF v_state.queue_id IS NULL THEN
            v_state := slipring.taken_apart(p_queue, v_n, false);
        END IF;
    END IF;
    -- Once more: whoever ends this way waits for transactions that have their number by now.
    v_n := least(v_n, (v_most - v_state.leased) / {{IN_FLIGHT_NEAR}});
    v_left := v_n;
    IF 4 * v_left < p_n OR NOT (p_asked OR slipring.taken_may(v_state)) THEN
        RETURN;
    END IF;
    FOR v_at IN 1..cardinality(v_state.lanes) LOOP
        EXIT WHEN v_left <= 0 OR v_room <= 0;
        CONTINUE WHEN isempty(v_state.open[v_at]);
        v_from := coalesce(v_from, slipring.live_tables(p_queue, v_state));
        v_read := slipring.claim_read(p_queue, v_state, v_from, v_at, v_state.open[v_at], v_left,
            v_room);
        IF v_read.leases_differ THEN
            v_left := 1;
            v_read := slipring.claim_read(p_queue, v_state, v_from, v_at, v_state.open[v_at], 1,
                v_room);
        END IF;
        CONTINUE WHEN v_read.total = 0;
        IF v_read.total = 1 THEN
            -- See offer_open.
            v_read.region := v_read.region * int8multirange(int8range(NULL, v_read.last_id, '[]'));
        END IF;
        v_fence := coalesce(v_fence + 1, slipring.taken_next(p_queue));
        v_deadline := p_now_ms
            + coalesce(p_lease_ms, v_read.lease_each, p_queue.visibility_timeout_ms);
        INSERT INTO slipring.lease VALUES (pg_sequence_last_value('slipring.journal') % 3,
            p_queue.queue_id, v_fence, 0, 0, v_state.lanes[v_at], v_deadline, p_now_ms, NULL,
            v_read.total, v_read.bytes, v_read.bytes_each, v_read.region);
        v_left := v_left - v_read.total;
        v_room := v_room - v_read.bytes;
        RETURN QUERY SELECT NULL::int, NULL::bigint, v_fence, v_deadline, NULL::bigint,
            v_state.lanes[v_at] & {{PRIORITY_MAX}}, 1::bigint, p_now_ms, 0::bigint,
            v_read.lease_each, NULL::text,
            NULL::text, NULL::text, NULL::text, NULL::bytea, NULL::text, v_read.ids,
            v_read.sents_ms, v_read.bodies, v_read.groups, v_read.dedup_ids, v_read.headers_each,
            v_read.ns, v_read.firsts, v_read.counts, NULL::bigint;
    END LOOP;
    IF v_fence IS NOT NULL THEN
        -- After the rows, so that the transaction has its number before the sequence moves.
        PERFORM nextval(p_queue.activity);
    END IF;
    demand := 0;
    end_kind := CASE WHEN v_left < v_n THEN 'more' ELSE 'drained' END;
    RETURN NEXT;
END $$;
