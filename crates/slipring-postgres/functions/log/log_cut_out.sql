-- Purpose: takes one ready message out of the log, wherever it stands in its lane.
-- Inputs:  p_queue, p_state; p_message, which it is an error not to find ready there.
-- Lock:    the caller holds the queue's lock.
-- Index:   the partitions' order indexes, one step for each lane; see lease_open when it is not
--          ready.
-- Answers: the state, not written, and the lane.
CREATE OR REPLACE FUNCTION slipring.log_cut_out(
    p_queue slipring.queue, INOUT p_state slipring.state, p_message bigint, OUT lane bigint)
LANGUAGE plpgsql AS $$
DECLARE
    v_found record;
    v_at int;
BEGIN
    EXECUTE format('SELECT m.lane, m.bytes FROM unnest($1) l CROSS JOIN LATERAL %s m',
        slipring.log_row(slipring.live_tables(p_queue, p_state), 'l', '$2'))
    INTO v_found USING p_state.lanes, p_message;
    v_at := array_position(p_state.lanes, v_found.lane);
    IF v_at IS NULL THEN
        PERFORM slipring.message_gone(p_message);
    ELSIF NOT p_message <@ p_state.open[v_at] THEN
        IF EXISTS (SELECT FROM slipring.lease_open(p_queue.queue_id) l
                WHERE l.lane = v_found.lane AND p_message <@ l.open) THEN
            PERFORM slipring.message_held(p_message);
        END IF;
        PERFORM slipring.message_gone(p_message);
    END IF;
    IF p_state.taken IS NOT NULL THEN
        -- An open transaction may have received it, or one that has committed since the state was
        -- read.
        IF NOT p_message <@ (slipring.taken_lane(p_queue, slipring.live_table_names(p_queue, p_state),
                v_found.lane, int8multirange(int8range(p_message, p_message + 1)), 1,
                true)).free THEN
            PERFORM slipring.message_held(p_message);
        END IF;
        p_state := slipring.taken_read(p_queue, p_state);
        IF NOT p_message <@ p_state.open[v_at] THEN
            PERFORM slipring.message_held(p_message);
        END IF;
    END IF;
    p_state.open[v_at] := p_state.open[v_at]
        - int8multirange(int8range(p_message, p_message + 1));
    p_state := slipring.state_uncount(p_state, v_at, ARRAY[p_message], ARRAY[v_found.bytes]);
    lane := v_found.lane;
END $$;
