-- Purpose: store_claim of a standard queue where messages with pictures are ready too.
-- Inputs:  as store_claim; p_leased, how many messages with pictures are leased.
-- Lock:    the caller holds the queue's lock.
-- Index:   the partitions' order indexes, see claim_feed, claim_marks.
CREATE OR REPLACE FUNCTION slipring.claim_mixed(
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
    v_room bigint := greatest(p_queue.in_flight_max - p_state.leased - p_leased, 0);
    v_limit bigint := least((SELECT sum(greatest(u, 1)) FROM unnest(p_up_to) u), v_room) + 1;
    v_limits bigint[] := ARRAY[v_limit, v_limit, v_limit];
    v_marks slipring.mark[] := ARRAY[slipring.mark_read(p_queue.queue_id, 1),
        slipring.mark_read(p_queue.queue_id, 7), slipring.mark_read(p_queue.queue_id, 8)];
    v_feeds slipring.feed[];
    v_feed slipring.feed;
    v_found bigint := 0;
    v_deal record;
    v_given slipring.feed;
    v_lane record;
    v_left record;
    v_leased record;
    v_items record;
    v_ids bigint[] := '{}';
    v_lanes bigint[] := '{}';
    v_demands int[] := '{}';
    v_fences bigint[] := '{}';
    v_deadlines bigint[] := '{}';
BEGIN
    p_state.seq := p_state.seq + 1;
    FOR v_at IN 1..3 LOOP
        IF v_at = 3 AND v_found >= v_limit THEN
            -- Beside so many others they get no more than their share.
            v_limits[3] := v_limit / 100 + 2;
        END IF;
        v_feed := slipring.claim_feed(p_queue, p_state, v_marks[v_at], v_done, v_limits[v_at]);
        v_found := v_found + coalesce(cardinality(v_feed.ids), 0);
        v_feeds[v_at] := v_feed;
    END LOOP;
    v_deal := slipring.claim_share(p_queue, p_up_to, v_room, p_state.passed_over, v_feeds);
    p_state.passed_over := v_deal.passed;
    v_given := slipring.claim_given(v_feeds, v_deal.standings);
    FOR v_lane IN
        SELECT f.at, array_agg(f.id ORDER BY f.id) AS ids,
            array_agg(f.bytes ORDER BY f.id) AS sizes,
            CASE WHEN count(f.own) > 0 THEN array_agg(f.own ORDER BY f.id) END AS own,
            array_agg(f.demand ORDER BY f.id) AS demands
        FROM unnest(v_given.ats, v_given.ids, v_given.sizes, v_given.own, v_deal.demands)
            AS f(at, id, bytes, own, demand)
        WHERE f.at > 0 GROUP BY f.at
    LOOP
        v_left := slipring.log_leave(p_state, v_lane.at, v_done, v_lane.ids, v_lane.sizes);
        p_state := v_left.p_state;
        v_leased := slipring.lease_add(p_queue, p_state, p_now_ms, p_state.lanes[v_lane.at],
            v_left.region, v_lane.ids, v_lane.sizes, v_lane.own, v_lane.demands, p_lease_ms,
            p_session, p_holder);
        p_state := v_leased.p_state;
        v_ids := v_ids || v_lane.ids;
        v_lanes := v_lanes || array_fill(p_state.lanes[v_lane.at],
            ARRAY[cardinality(v_lane.ids)]);
        v_demands := v_demands || v_lane.demands;
        v_fences := v_fences || v_leased.fences;
        v_deadlines := v_deadlines || v_leased.deadlines;
    END LOOP;
    SELECT coalesce(array_agg(f.id), '{}') AS ids, coalesce(array_agg(f.demand), '{}') AS demands,
        max(f.fence) AS fence
    INTO v_items FROM unnest(v_given.ats, v_given.ids, v_given.fences, v_deal.demands)
        AS f(at, id, fence, demand) WHERE f.at = 0;
    IF v_items.ids <> '{}' THEN
        p_state.fence := greatest(p_state.fence, v_items.fence, slipring.fence_least(p_now_ms)) + 1;
    END IF;
    IF cardinality(v_deal.demands) > 0 THEN
        PERFORM slipring.claim_marks(v_marks, v_done, v_feeds, v_limits, v_deal.standings,
            p_state.seq % {{MARK_EVERY}} = 0);
        PERFORM slipring.state_write(p_queue, p_state);
    END IF;
    RETURN QUERY EXECUTE format('SELECT m.* FROM (
        SELECT u.demand, m.id, u.fence, u.deadline, m.sent_ms, m.lane & {{PRIORITY_MAX}} AS priority, 1::bigint,
            $6, 0::bigint, m.lease_ms, m.group_name, m.dedup_id, m.headers, NULL::text, m.body,
            NULL::text
        FROM unnest($1, $2, $3, $4, $5) AS u(lane, id, demand, fence, deadline)
        CROSS JOIN LATERAL %s m
        UNION ALL
        SELECT * FROM slipring.item_hand_out($7, $6, $8, $9, $10, $11, $12, $13)) m
        JOIN unnest($14) WITH ORDINALITY AS o(id, n) ON o.id = m.id
        ORDER BY o.n', slipring.log_row(v_from, 'u.lane', 'u.id'))
    USING v_lanes, v_ids, v_demands, v_fences, v_deadlines, p_now_ms, p_queue, v_items.ids,
        v_items.demands, p_state.fence, p_lease_ms, p_session, p_holder, v_given.ids;
    demand := 0;
    end_kind := v_deal.end_kind;
    RETURN NEXT;
    PERFORM slipring.tally_fold(p_queue);
END $$;
