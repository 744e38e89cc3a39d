-- Purpose: counts the ready messages of the log that were not counted before.
-- Inputs:  p_queue, p_state; p_done, those of them that are counted, at most the cut. All numbers of a pack
--          are in it, or none.
-- Lock:    the caller holds the queue's lock where it writes the state.
-- Index:   the partitions' order indexes, over what is ready and was sent since the last count.
-- Answers: the state with new counts; not written.
CREATE OR REPLACE FUNCTION slipring.state_count(
    p_queue slipring.queue, p_state slipring.state, p_done int8multirange)
RETURNS slipring.state LANGUAGE plpgsql AS $$
DECLARE
    v_from text := slipring.live_tables(p_queue, p_state);
    v_range int8range;
    v_new record;
BEGIN
    FOR v_at IN 1..cardinality(p_state.lanes) LOOP
        FOR v_range IN SELECT unnest(p_state.open[v_at] * p_state.uncounted * p_done) LOOP
            v_new := slipring.log_count(v_from, p_state.lanes[v_at], lower(v_range),
                upper(v_range));
            p_state.counted[v_at] := p_state.counted[v_at] + v_new.n;
            p_state.counted_bytes[v_at] := p_state.counted_bytes[v_at] + v_new.bytes;
        END LOOP;
    END LOOP;
    p_state.uncounted := p_state.uncounted - p_done;
    RETURN p_state;
END $$;
