-- Purpose: what can be known of the messages of a lease whose row can be none.
-- Inputs:  p_queue; p_state; p_lease.
-- Lock:    the caller holds the queue's lock.
-- Index:   lease_newest; one step in the tables' order indexes for each lane; the whole tables where
--          the lease has no bounds and no older row tells them.
-- Answers: the lease, with bounds and in the lane of its messages.
CREATE OR REPLACE FUNCTION slipring.aside_lease_known(
    p_queue slipring.queue, p_state slipring.state, p_lease slipring.lease)
RETURNS slipring.lease LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_from text := slipring.live_tables(p_queue, p_state);
    v_others int8multirange;
    v_before int8multirange;
BEGIN
    SELECT range_agg(r) FILTER (WHERE l.fence <> p_lease.fence OR l.part <> p_lease.part),
        range_agg(r) FILTER (WHERE l.fence = p_lease.fence AND l.part = p_lease.part
            AND l.seq <> p_lease.seq)
    INTO v_others, v_before
    FROM slipring.lease l CROSS JOIN LATERAL unnest(l.open) r
    WHERE l.queue_id = p_queue.queue_id AND NOT lower_inf(r) AND NOT upper_inf(r);
    IF p_lease.lane <> ALL (p_state.lanes) THEN
        EXECUTE format('SELECT m.lane FROM unnest($1) w(lane) CROSS JOIN LATERAL (
            SELECT m.lane FROM %s m WHERE m.lane = w.lane AND m.id >= lower($2)
                AND m.id < upper($2) LIMIT 1) m LIMIT 1', v_from)
        INTO p_lease.lane USING p_state.lanes, p_lease.open;
        p_lease.lane := coalesce(p_lease.lane, p_state.lanes[1]);
    END IF;
    IF v_before IS NULL AND (lower_inf(p_lease.open) OR upper_inf(p_lease.open)) THEN
        EXECUTE format('SELECT range_agg(int8range(m.id - coalesce(m.n, 1) + 1, m.id + 1))
            FROM %s m WHERE m.lane = $1', v_from)
        INTO v_before USING p_lease.lane;
    END IF;
    p_lease.open := p_lease.open * coalesce(v_before, p_lease.open) - coalesce(v_others, '{}')
        - p_state.open[array_position(p_state.lanes, p_lease.lane)];
    RETURN p_lease;
END $$;
