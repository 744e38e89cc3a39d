-- Purpose: whether the message of a deduplication id is in the queue, be it ready, leased, delayed or parked.
-- Inputs:  p_queue; p_message.
-- Lock:    none. What an open transaction has acked counts as there.
-- Index:   see item_now, log_feed and lease_open.
CREATE OR REPLACE FUNCTION slipring.dedup_there(p_queue slipring.queue, p_message bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN EXISTS (SELECT FROM slipring.item_now(p_message) i WHERE i.queue_id = p_queue.queue_id)
        OR EXISTS (SELECT FROM slipring.log_feed(p_queue, slipring.state_newest(p_queue.queue_id),
            int8multirange(int8range(p_message, p_message, '[]')), 1))
        OR EXISTS (SELECT FROM slipring.lease_open(p_queue.queue_id) l WHERE p_message <@ l.open);
END $$;
