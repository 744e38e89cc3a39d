-- Purpose: takes the first ready messages of a lane out of it.
-- Inputs:  p_state; p_at, the lane's place; p_done, the cut; p_ids, ascending: all messages of the
--          lane that come before the last of them are among them or in nobody's reach any more.
-- Lock:    none; nothing is written.
-- Index:   none.
-- Answers: the state, and the ids that were taken with the gaps between them.
CREATE OR REPLACE FUNCTION slipring.log_leave(
    INOUT p_state slipring.state, p_at int, p_done int8multirange, p_ids bigint[],
    p_sizes int[], OUT region int8multirange)
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    region := p_state.open[p_at] * p_done
        * int8multirange(int8range(NULL, p_ids[cardinality(p_ids)] + 1));
    p_state.open[p_at] := p_state.open[p_at] - region;
    p_state := slipring.state_uncount(p_state, p_at, p_ids, p_sizes);
END $$;
