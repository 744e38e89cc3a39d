-- Purpose: whether a queue has messages in the oldest of the tables that it shares: ready, leased, or of an
--          open load. No transaction writes to that table any more, so the answer false stays right.
-- Inputs:  p_queue; p_table.
-- Lock:    none: open loads are read before the state, and the state before the leases, for so messages go
--          on: from a load to the ready ones, from these to a lease, and away.
-- Index:   state_newest; the table's order index, a step for each range; lease_newest, and see
--          leases_members, which ends with the first message.
CREATE OR REPLACE FUNCTION slipring.place_left(p_queue slipring.queue, p_table text)
RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_held int8multirange := slipring.load_held(p_queue.queue_id);
    v_state slipring.state := slipring.state_read(p_queue);
    v_leases slipring.lease[];
BEGIN
    IF slipring.log_any(p_table, v_state.lanes, v_state.open)
        OR slipring.log_any(p_table, v_state.lanes, array_fill(
            v_held, ARRAY[cardinality(v_state.lanes)])) THEN
        RETURN true;
    END IF;
    v_leases := ARRAY(SELECT l FROM slipring.leases_meeting(p_queue.queue_id, p_table,
        v_state.lanes) l);
    RETURN EXISTS (SELECT FROM slipring.leases_members(p_table, v_leases, 1));
END $$;
