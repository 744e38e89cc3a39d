-- Purpose: whether a queue shares tables and has no leases and acks in the journal: its state can be copied
--          without a look at them.
-- Inputs:  p_queue.
-- Lock:    none; the answer holds for who has the queue's lock.
-- Index:   queue_pkey, lease_newest, ack_queue.
CREATE OR REPLACE FUNCTION slipring.journal_idle(p_queue int)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN EXISTS (SELECT FROM slipring.queue q
            WHERE q.queue_id = p_queue AND q.generation_low IS NOT NULL)
        AND NOT EXISTS (SELECT FROM slipring.lease l WHERE l.queue_id = p_queue)
        AND NOT EXISTS (SELECT FROM slipring.ack a
            WHERE a.queue_id * 2::bigint = p_queue * 2::bigint);
END $$;
