-- Purpose: takes messages that leave the ready ones of a lane out of the lane's counts, as far as
--          they were counted.
-- Inputs:  p_state; p_at, the lane's place in the state; p_ids ascending with p_bytes; p_counts,
--          where an id stands for the last messages of a pack. All ids of a pack have been counted
--          or none has.
-- Lock:    none; nothing is written.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.state_uncount(
    p_state slipring.state, p_at int, p_ids bigint[], p_bytes int[],
    p_counts int[] DEFAULT NULL)
RETURNS slipring.state LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_n bigint;
    v_bytes bigint;
    v_range int8range := int8range(p_ids[1], p_ids[cardinality(p_ids)] + 1);
    v_all boolean := NOT v_range && p_state.uncounted;
BEGIN
    IF v_range <@ p_state.uncounted THEN
        RETURN p_state;
    END IF;
    SELECT coalesce(sum(coalesce(u.count, 1)), 0), coalesce(sum(u.bytes), 0) INTO v_n, v_bytes
    FROM unnest(p_ids, p_bytes, p_counts) AS u(id, bytes, count)
    WHERE v_all OR NOT u.id <@ p_state.uncounted;
    p_state.counted[p_at] := p_state.counted[p_at] - v_n;
    p_state.counted_bytes[p_at] := p_state.counted_bytes[p_at] - v_bytes;
    RETURN p_state;
END $$;
