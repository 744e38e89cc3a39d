-- Purpose: when the first ready message of a lane of the log was sent.
-- Inputs:  p_from, see live_tables; p_state; p_at, the lane's place.
-- Lock:    none; the caller's snapshot.
-- Index:   the partitions' order indexes, one step for each range up to the first with a message.
CREATE OR REPLACE FUNCTION slipring.lane_oldest(p_from text, p_state slipring.state, p_at int)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_range record;
    v_oldest_ms bigint;
BEGIN
    FOR v_range IN SELECT * FROM slipring.spans(p_state.open[p_at]) LOOP
        EXECUTE format('SELECT sent_ms FROM %s m LIMIT 1',
            slipring.log_rows(p_from, '$1', '$2', '$3'))
        INTO v_oldest_ms USING p_state.lanes[p_at], v_range.first, v_range.past;
        EXIT WHEN v_oldest_ms IS NOT NULL;
    END LOOP;
    RETURN v_oldest_ms;
END $$;
