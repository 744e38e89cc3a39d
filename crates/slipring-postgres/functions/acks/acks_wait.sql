-- Purpose: whether users' transactions have left acks that were not taken in. A first look without
--          a cut: that there are none is the rule.
-- Inputs:  p_queue, p_state.
-- Lock:    the caller holds the queue's lock.
-- Index:   see acks_read.
CREATE OR REPLACE FUNCTION slipring.acks_wait(p_queue slipring.queue, p_state slipring.state)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM slipring.acks_read(p_queue.queue_id, p_state.acks));
END $$;
