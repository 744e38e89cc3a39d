-- Purpose: the visibility timeout that a message of the log was sent with, or null.
-- Inputs:  p_queue, p_state, p_lane, p_message.
-- Lock:    the caller holds the queue's lock.
-- Index:   the partitions' order indexes, one step.
CREATE OR REPLACE FUNCTION slipring.log_own_lease(
    p_queue slipring.queue, p_state slipring.state, p_lane bigint, p_message bigint)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_own bigint;
BEGIN
    EXECUTE format('SELECT m.lease_ms FROM %s m',
        slipring.log_row(slipring.live_tables(p_queue, p_state), '$1', '$2'))
    INTO v_own USING p_lane, p_message;
    RETURN v_own;
END $$;
