-- Purpose: the leases of the log of a queue that are not over, for what has no fence to look by.
-- Inputs:  p_queue.
-- Lock:    the caller holds the queue's lock where it will write.
-- Index:   lease_newest: from the marks on, see leases_mark, and a few steps for each run of fences
--          that was open then.
CREATE OR REPLACE FUNCTION slipring.lease_open(p_queue int)
RETURNS SETOF slipring.lease LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_mark slipring.mark := slipring.mark_read(p_queue, 9);
    v_below slipring.mark := slipring.mark_read(p_queue, 10);
BEGIN
    RETURN QUERY SELECT l.* FROM slipring.leases_in(p_queue, v_mark.unseen + v_below.unseen
        + int8multirange(int8range(v_below.turn, greatest(v_below.turn, 0)),
            int8range(greatest(v_mark.turn, 0), {{BIGINT_MAX}}))) l
    WHERE l.n > 0;
END $$;
