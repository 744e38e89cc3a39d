-- Purpose: whether users' transactions have left acks that were not taken in. A first look without
--          a cut: that there are none is the rule.
-- Inputs:  p_queue, p_state.
-- Lock:    the caller holds the queue's lock.
-- Index:   ack_queue, a range for each run of ids, in each slot.
CREATE OR REPLACE FUNCTION slipring.acks_wait(p_queue slipring.queue, p_state slipring.state)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM unnest(p_state.acks) r, slipring.ack a
        WHERE a.queue_id = p_queue.queue_id AND a.id >= lower(r)
            AND (upper_inf(r) OR a.id < upper(r)));
END $$;
