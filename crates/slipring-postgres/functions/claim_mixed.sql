-- Purpose: store_claim of a standard queue where messages with pictures are ready too.
-- Inputs:  as store_claim; p_leased, how many messages with pictures are leased.
-- Lock:    the caller holds the queue's lock.
-- Index:   the partitions' order indexes, see items_first, items_taken.
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
    v_mark slipring.mark := slipring.mark_read(p_queue.queue_id, 1);
    v_feed record;
    v_deal record;
    v_lane record;
    v_left record;
    v_given record;
    v_items record;
    v_ids bigint[] := '{}';
    v_lanes bigint[] := '{}';
    v_demands int[] := '{}';
    v_fences bigint[] := '{}';
    v_deadlines bigint[] := '{}';
BEGIN
    p_state.seq := p_state.seq + 1;
    SELECT array_agg(m.at ORDER BY m.rank, m.id) AS ats,
        array_agg(m.rank ORDER BY m.rank, m.id) AS ranks,
        array_agg(m.id ORDER BY m.rank, m.id) AS ids,
        array_agg(m.bytes ORDER BY m.rank, m.id) AS sizes,
        array_agg(m.lease_ms ORDER BY m.rank, m.id) AS own,
        array_agg(m.attempts ORDER BY m.rank, m.id) AS attempts,
        array_agg(m.fence ORDER BY m.rank, m.id) AS fences
    INTO v_feed FROM (
        SELECT * FROM (
            SELECT f.at, p_state.lanes[f.at] AS rank, f.id, f.bytes, f.lease_ms,
                0::bigint AS attempts, 0::bigint AS fence
            FROM slipring.log_feed(p_queue, p_state, v_done, v_limit) f
            UNION ALL
            SELECT 0, i.turn, i.id, i.bytes, i.lease_ms, i.attempts, i.fence
            FROM slipring.items_first(v_mark, v_done, v_limit) i) m
        ORDER BY m.rank, m.id LIMIT v_limit) m;
    v_deal := slipring.claim_deal(p_queue, p_up_to, v_feed.attempts, v_feed.sizes, v_room);
    FOR v_lane IN
        SELECT f.at, array_agg(f.id ORDER BY f.id) AS ids,
            array_agg(f.bytes ORDER BY f.id) AS sizes,
            CASE WHEN count(f.own) > 0 THEN array_agg(f.own ORDER BY f.id) END AS own,
            array_agg(f.demand ORDER BY f.id) AS demands
        FROM unnest(v_feed.ats, v_feed.ids, v_feed.sizes, v_feed.own, v_deal.demands)
            AS f(at, id, bytes, own, demand)
        WHERE f.demand IS NOT NULL AND f.at > 0 GROUP BY f.at
    LOOP
        v_left := slipring.log_leave(p_state, v_lane.at, v_done, v_lane.ids, v_lane.sizes);
        p_state := v_left.p_state;
        v_given := slipring.lease_add(p_queue, p_state, p_now_ms, p_state.lanes[v_lane.at],
            v_left.region, v_lane.ids, v_lane.sizes, v_lane.own, v_lane.demands, p_lease_ms,
            p_session, p_holder);
        p_state := v_given.p_state;
        v_ids := v_ids || v_lane.ids;
        v_lanes := v_lanes || array_fill(p_state.lanes[v_lane.at],
            ARRAY[cardinality(v_lane.ids)]);
        v_demands := v_demands || v_lane.demands;
        v_fences := v_fences || v_given.fences;
        v_deadlines := v_deadlines || v_given.deadlines;
    END LOOP;
    SELECT coalesce(array_agg(f.id), '{}') AS ids, coalesce(array_agg(f.demand), '{}') AS demands,
        max(f.fence) AS fence
    INTO v_items FROM unnest(v_feed.ats, v_feed.ids, v_feed.fences, v_deal.demands)
        AS f(at, id, fence, demand) WHERE f.demand IS NOT NULL AND f.at = 0;
    IF v_items.ids <> '{}' THEN
        p_state.fence := greatest(p_state.fence, v_items.fence, p_now_ms << 20) + 1;
    END IF;
    IF cardinality(v_deal.demands) > 0 THEN
        PERFORM slipring.items_taken(v_mark, v_done, v_feed.ats, v_feed.ranks, v_feed.ids,
            cardinality(v_deal.demands), cardinality(v_feed.ids) < v_limit);
        PERFORM slipring.state_write(p_queue, p_state);
    END IF;
    RETURN QUERY EXECUTE format('SELECT * FROM (
        SELECT u.demand, m.id, u.fence, u.deadline, m.sent_ms, m.lane AS priority, 1::bigint,
            $6, 0::bigint, m.lease_ms, m.group_name, m.dedup_id, m.headers, NULL::text, m.body,
            NULL::text
        FROM unnest($1, $2, $3, $4, $5) AS u(lane, id, demand, fence, deadline)
        CROSS JOIN LATERAL %s m
        UNION ALL
        SELECT * FROM slipring.item_hand_out($7, $6, $8, $9, $10, $11, $12, $13)) m
        ORDER BY m.demand, m.priority, m.id', slipring.log_row(v_from, 'u.lane', 'u.id'))
    USING v_lanes, v_ids, v_demands, v_fences, v_deadlines, p_now_ms, p_queue, v_items.ids,
        v_items.demands, p_state.fence, p_lease_ms, p_session, p_holder;
    demand := 0;
    end_kind := v_deal.end_kind;
    RETURN NEXT;
    PERFORM slipring.tally_fold(p_queue);
END $$;
