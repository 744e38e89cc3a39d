-- Purpose: adds a lane to a state, at its place in the order of priorities.
-- Inputs:  p_state, p_lane, which it does not have.
-- Lock:    none; nothing is written. Whoever sends to a new lane does it in the transaction that
--          makes the lane or later, so no row of it is among those that were counted.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.state_add_lane(p_state slipring.state, p_lane bigint)
RETURNS slipring.state LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_at int := 1;
BEGIN
    WHILE p_state.lanes[v_at] < p_lane LOOP
        v_at := v_at + 1;
    END LOOP;
    p_state.lanes := p_state.lanes[:v_at - 1] || p_lane || p_state.lanes[v_at:];
    p_state.open := p_state.open[:v_at - 1] || '{[0,)}'::int8multirange
        || p_state.open[v_at:];
    p_state.counted := p_state.counted[:v_at - 1] || 0::bigint || p_state.counted[v_at:];
    p_state.counted_bytes :=
        p_state.counted_bytes[:v_at - 1] || 0::bigint || p_state.counted_bytes[v_at:];
    RETURN p_state;
END $$;
