-- Purpose: whether a table that wants to retire still has leased messages; those in leases that began
--          long ago are moved to the shelf, with lease and fence, at most 1,000.
-- Inputs:  p_queue; p_table; p_before_ms: leases that began before may be moved.
-- Lock:    the caller holds the queue's lock.
-- Index:   see leases_meeting, once for all leases; leases_members, which ends with the first message
--          that stays.
CREATE OR REPLACE FUNCTION slipring.retire_leased(
    p_queue slipring.queue, p_table text, p_before_ms bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_most CONSTANT bigint := {{TURN_MESSAGES_MAX}};
    v_state slipring.state := slipring.state_read(p_queue);
    v_old slipring.lease[];
    v_young slipring.lease[];
    v_found record;
    v_n int;
BEGIN
    SELECT array_agg(l) FILTER (WHERE l.leased_ms < p_before_ms),
        array_agg(l) FILTER (WHERE l.leased_ms >= p_before_ms)
    INTO v_old, v_young
    FROM slipring.leases_meeting(p_queue.queue_id, p_table, v_state.lanes) l;
    SELECT array_agg(m.id) AS ids, array_agg(m.lane) AS lanes, array_agg(m.fence) AS fences,
        array_agg(m.deadline_ms) AS deadlines, array_agg(m.leased_ms) AS leased,
        array_agg(m.holder) AS holders
    INTO v_found FROM slipring.leases_members(p_table, v_old, v_most) m;
    v_n := coalesce(cardinality(v_found.ids), 0);
    IF v_n > 0 THEN
        v_state.seq := v_state.seq + 1;
        v_state := (slipring.lease_ack(p_queue, v_state, v_found.ids, v_found.fences)).p_state;
        PERFORM slipring.log_to_items(p_table, p_queue, v_found.lanes, v_found.ids,
            array_fill(2, ARRAY[v_n]), v_found.deadlines, NULL, array_fill(1::bigint, ARRAY[v_n]),
            v_found.fences, v_found.leased, NULL, NULL, v_found.holders);
        PERFORM slipring.state_write(p_queue, v_state);
    END IF;
    RETURN v_n = v_most
        OR EXISTS (SELECT FROM slipring.leases_members(p_table, v_young, 1));
END $$;
