-- Purpose: leaves a state the ready messages that a transaction has locked, and sets the others apart.
-- Inputs:  p_state, read after the locks were taken: it shows hand-outs that were committed before; p_lanes,
--          and of each p_mine, the numbers that were locked.
-- Lock:    none.
-- Index:   none.
-- Answers: the state, not written; whether some of the messages are not ready any more.
CREATE OR REPLACE FUNCTION slipring.taken_keep(
    INOUT p_state slipring.state, p_lanes bigint[], p_mine int8multirange[], OUT lost boolean)
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_mine int8multirange;
BEGIN
    p_state.apart := '{}';
    lost := false;
    FOR v_at IN 1..cardinality(p_state.lanes) LOOP
        v_mine := coalesce(p_mine[array_position(p_lanes, p_state.lanes[v_at])], '{}');
        lost := lost OR NOT v_mine <@ p_state.open[v_at];
        p_state.apart := p_state.apart || (p_state.open[v_at] - v_mine);
        p_state.open[v_at] := p_state.open[v_at] * v_mine;
    END LOOP;
END $$;
