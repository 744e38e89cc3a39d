-- Purpose: the newest state of a queue, with what users' transactions have been handed since. After
--          taken_ask it has taken also where the state that was written has none.
-- Inputs:  p_queue.
-- Lock:    the caller holds the queue's lock where it will write.
-- Index:   state_newest, backwards, one step in each slot; see load_held where a lane is new,
--          and taken_read.
CREATE OR REPLACE FUNCTION slipring.state_read(p_queue slipring.queue)
RETURNS slipring.state LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_state slipring.state;
    v_lane bigint;
    v_at int;
BEGIN
    -- Not by state_newest: each call reads it, and to hand the row on costs more than to find it.
    SELECT * INTO v_state FROM state s WHERE s.queue_id = p_queue.queue_id
    ORDER BY s.seq DESC LIMIT 1;
    IF v_state.queue_id IS NULL THEN
        v_state := slipring.state_newest(p_queue.queue_id);
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
    IF v_state.taken IS NULL THEN
        IF p_queue.fifo OR NOT slipring.taken_expected(p_queue.queue_id) THEN
            RETURN v_state;
        END IF;
        -- A transaction that has called taken_ask may be handing out messages, which is not in the state.
        v_state := slipring.taken_begin(v_state);
    END IF;
    RETURN slipring.taken_read(p_queue, v_state);
END $$;
