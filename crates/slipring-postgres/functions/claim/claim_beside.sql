-- Purpose: store_claim of a standard queue where messages with pictures are ready too, and the
--          receives have the same terms: the log by whole reads, as claim_plain does, and messages
--          with pictures at their places between (S7.1, S7.2, S11.1).
-- Inputs:  p_up_to of each receive, which in_flight_max has room for; p_lease_ms and p_session, one
--          for all; p_holder; p_ready, how many messages with pictures are ready; p_differences, how
--          many of the queue are in tally.
-- Lock:    the caller holds the queue's lock.
-- Index:   see claim_places, claim_lease, claim_marks, item_hand_out.
-- Answers: see store_claim. Nothing, and nothing is written, where a receive may end smaller than
--          it was asked for (S11.2), where a message with a picture that is no failing one comes
--          between messages of one lane, where there are many of these, or where messages of a lane
--          have different leases of their own: then others have to look message by message.
CREATE OR REPLACE FUNCTION slipring.claim_beside(
    p_queue slipring.queue, p_state slipring.state, p_now_ms bigint, p_up_to int[],
    p_lease_ms bigint[], p_session boolean[], p_holder bigint, p_ready bigint,
    p_differences bigint)
RETURNS TABLE (demand int, id bigint, fence bigint, deadline_ms bigint, sent_ms bigint,
    priority bigint, attempts bigint, first_received_ms bigint, delay_ms bigint, lease_ms bigint,
    group_name text, dedup_id text, headers text, source text, body bytea, end_kind text,
    ids bigint[], sents_ms bigint[], bodies bytea[], groups text[], dedup_ids text[],
    headers_each text[], ns int[], firsts bigint[], counts int[], place bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_done int8multirange := slipring.cut(p_queue.xid_base);
    v_want bigint := (SELECT sum(greatest(u, 1)) FROM unnest(p_up_to) u);
    v_most bigint := (SELECT max(greatest(u, 1)) FROM unnest(p_up_to) u);
    v_limits bigint[] := ARRAY[65, 65, greatest(v_want / 100 + 2, least(p_ready, 16) + 1)];
    v_marks slipring.mark[];
    v_feeds slipring.feed[];
    v_plan record;
    v_read slipring.lane_read;
    v_deadline bigint;
    v_items int;
    v_fence bigint;
BEGIN
    FOR v_at IN REVERSE 3..1 LOOP
        -- Where all that are ready are failing ones, there are no others.
        EXIT WHEN v_at < 3 AND cardinality((v_feeds[3]).ids) = p_ready;
        v_marks[v_at] := slipring.mark_read(p_queue.queue_id, (ARRAY[1, 7, 8])[v_at]);
        v_feeds[v_at] := slipring.claim_pictures(v_marks[v_at], v_done, v_limits[v_at]);
    END LOOP;
    v_plan := slipring.claim_places(p_queue, p_state, v_done, v_want, v_most, v_marks, v_feeds,
        v_limits);
    IF v_plan.end_kind IS NULL THEN
        RETURN;
    END IF;
    p_state.seq := p_state.seq + 1;
    p_state.passed_over := v_plan.passed;
    v_items := coalesce(cardinality(v_plan.ids), 0);
    IF v_items > 0 THEN
        p_state.fence := greatest(p_state.fence, slipring.fence_least(p_now_ms), (
            SELECT max(f) FROM generate_series(1, 3) s
            CROSS JOIN LATERAL unnest((v_plan.p_feeds[s]).fences) f)) + 1;
        v_fence := p_state.fence;
    END IF;
    -- For those who do not look at places: what came back to its old place is mostly first of all,
    -- and the turns of failing messages are not.
    IF v_plan.places[1] = 0 THEN
        RETURN QUERY SELECT * FROM slipring.claim_placed(p_queue, p_now_ms, v_plan.ids,
            v_plan.places, v_fence, p_lease_ms, p_session, p_holder);
    END IF;
    FOREACH v_read IN ARRAY coalesce(v_plan.reads, '{}') LOOP
        v_deadline := p_now_ms
            + coalesce(p_lease_ms[1], v_read.lease_each, p_queue.visibility_timeout_ms);
        p_state := slipring.claim_lease(p_queue, p_state, v_read, p_now_ms, v_deadline,
            CASE WHEN p_session[1] THEN p_holder END);
        RETURN QUERY SELECT NULL::int, NULL::bigint, p_state.fence, v_deadline, NULL::bigint,
            p_state.lanes[v_read.at] & {{PRIORITY_MAX}}, 1::bigint, p_now_ms, 0::bigint, v_read.lease_each,
            NULL::text, NULL::text, NULL::text, NULL::text, NULL::bytea, NULL::text, v_read.ids,
            v_read.sents_ms, v_read.bodies, v_read.groups, v_read.dedup_ids, v_read.headers_each,
            v_read.ns, v_read.firsts, v_read.counts, NULL::bigint;
    END LOOP;
    IF v_plan.places[1] > 0 THEN
        RETURN QUERY SELECT * FROM slipring.claim_placed(p_queue, p_now_ms, v_plan.ids,
            v_plan.places, v_fence, p_lease_ms, p_session, p_holder);
    END IF;
    IF v_items > 0 OR v_plan.reads IS NOT NULL THEN
        IF v_items > 0 OR p_state.seq % {{MARK_EVERY}} = 0 THEN
            PERFORM slipring.claim_marks(v_marks, v_done, v_plan.p_feeds, v_plan.p_limits,
                v_plan.standings, p_state.seq % {{MARK_EVERY}} = 0);
        END IF;
        PERFORM slipring.state_write(p_queue, p_state);
    END IF;
    demand := 0;
    end_kind := v_plan.end_kind;
    RETURN NEXT;
    IF p_differences + (v_items > 0)::int >= {{TALLY_FOLD}} THEN
        PERFORM slipring.tally_fold(p_queue);
    END IF;
END $$;
