-- Purpose: whether a message is in the log of a queue: ready, or leased since by another hand-out
--          than p_fence.
-- Inputs:  p_queue, p_message; p_fence, the hand-out of who asks, which has no open lease of the
--          message.
-- Lock:    the caller holds the queue's lock.
-- Index:   the partitions' order indexes, one step for each lane; lease_newest; see lease_open, where
--          the log has forgotten the hand-out.
CREATE OR REPLACE FUNCTION slipring.log_holds(
    p_queue slipring.queue, p_message bigint, p_fence bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_state slipring.state := slipring.state_read(p_queue);
    v_lane bigint;
BEGIN
    EXECUTE format('SELECT m.lane FROM unnest($1) l CROSS JOIN LATERAL %s m',
        slipring.log_row(slipring.live_tables(p_queue, v_state), 'l', '$2'))
    INTO v_lane USING v_state.lanes, p_message;
    IF v_lane IS NULL THEN
        RETURN false;
    ELSIF p_message <@ v_state.open[array_position(v_state.lanes, v_lane)] THEN
        RETURN true;
    ELSIF v_state.leased = 0 OR EXISTS (
        SELECT FROM lease l WHERE l.queue_id = p_queue.queue_id AND l.fence = p_fence
            AND l.lane = v_lane AND p_message <@ l.open) THEN
        -- The log remembers the hand-out, so no crash has undone it: what it held left the log with
        -- it, and is handed out by no other lease of the log.
        RETURN false;
    END IF;
    RETURN EXISTS (SELECT FROM slipring.lease_open(p_queue.queue_id) l
        WHERE l.lane = v_lane AND p_message <@ l.open);
END $$;
