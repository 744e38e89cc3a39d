-- Purpose: the newest state of a queue.
-- Inputs:  p_queue.
-- Lock:    the caller holds the queue's lock where it will write.
-- Index:   state_newest, backwards, one step in each slot; see load_held where a lane is new.
CREATE OR REPLACE FUNCTION slipring.state_read(p_queue slipring.queue)
RETURNS slipring.state LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_state slipring.state;
    v_lane bigint;
    v_at int;
BEGIN
    SELECT * INTO v_state FROM slipring.state s WHERE s.queue_id = p_queue.queue_id
    ORDER BY s.seq DESC LIMIT 1;
    IF v_state.queue_id IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = '40001',
            MESSAGE = 'the state of the queue has moved on; try again in a new transaction';
    END IF;
    IF v_state.lanes <> p_queue.lanes THEN
        FOREACH v_lane IN ARRAY p_queue.lanes LOOP
            IF v_lane <> ALL (v_state.lanes) THEN
                v_state := slipring.state_add_lane(v_state, v_lane);
                v_at := array_position(v_state.lanes, v_lane);
                v_state.open[v_at] := v_state.open[v_at] - slipring.load_held(p_queue.queue_id);
            END IF;
        END LOOP;
    END IF;
    RETURN v_state;
END $$;
