-- Purpose: whether users' transactions have left acks that were not taken in. A first look without
--          a cut: that there are none is the rule.
-- Inputs:  p_queue, p_state.
-- Lock:    the caller holds the queue's lock.
-- Index:   ack_queue, a range for each run of ids, in each slot.
CREATE OR REPLACE FUNCTION slipring.acks_wait(p_queue slipring.queue, p_state slipring.state)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    -- The inner query stays one of its own: joined, it would read all acks for each range.
    RETURN EXISTS (
        SELECT FROM unnest(p_state.acks) r CROSS JOIN LATERAL (
            SELECT FROM slipring.ack a
            WHERE a.queue_id = p_queue.queue_id AND a.id >= lower(r)
                AND a.id < coalesce(upper(r), 9223372036854775807) LIMIT 1) a);
END $$;
