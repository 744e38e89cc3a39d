-- Purpose: the leases of the log of a queue that are not over, for what has no fence to look by.
-- Inputs:  p_queue.
-- Lock:    the caller holds the queue's lock where it will write.
-- Index:   lease_newest: see leases_walk, a few steps for each run of fences.
CREATE OR REPLACE FUNCTION slipring.lease_open(p_queue int)
RETURNS SETOF slipring.lease LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_walk int8multirange := slipring.leases_walk(p_queue);
BEGIN
    RETURN QUERY SELECT l.* FROM slipring.leases_in(p_queue, v_walk) l WHERE l.n > 0;
END $$;
