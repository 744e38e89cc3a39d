-- Purpose: whether a lease was given for one message. Acks of such a lease do not take its lock for acks.
-- Inputs:  p_queue; p_fence.
-- Lock:    none.
-- Index:   lease_newest, one step in each slot.
-- Answers: false where the row of the hand-out is not there any more.
CREATE OR REPLACE FUNCTION slipring.lease_single(p_queue int, p_fence bigint)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM lease l WHERE l.queue_id = p_queue AND l.fence = p_fence
        AND l.part = 0 AND l.seq = 0 AND l.n = 1);
END $$;
