-- Purpose: whether a message is in the log of a queue, ready or in somebody's first hands.
-- Inputs:  p_queue, p_message.
-- Lock:    the caller holds the queue's lock.
-- Index:   the partitions' order indexes, one step for each lane; see lease_open.
CREATE OR REPLACE FUNCTION slipring.log_holds(p_queue slipring.queue, p_message bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_state slipring.state := slipring.state_read(p_queue);
    v_lane bigint;
BEGIN
    EXECUTE format('SELECT m.lane FROM unnest($1) l CROSS JOIN LATERAL %s m',
        slipring.log_row(slipring.live_tables(p_queue, v_state), 'l', '$2'))
    INTO v_lane USING v_state.lanes, p_message;
    RETURN v_lane IS NOT NULL AND (
        p_message <@ v_state.open[array_position(v_state.lanes, v_lane)]
        OR EXISTS (SELECT FROM slipring.lease_open(p_queue.queue_id) l
                   WHERE l.lane = v_lane AND p_message <@ l.open));
END $$;
