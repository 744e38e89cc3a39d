-- Purpose: the fences among which all leases of the log of a queue are that are not over.
-- Inputs:  p_queue.
-- Lock:    the caller holds the queue's lock where it will write.
-- Index:   see mark_read.
-- Answers: ranges of fences, for leases_in: from the marks on, see leases_mark, and a few of leases before
--          these that were open then.
CREATE OR REPLACE FUNCTION slipring.leases_walk(p_queue int)
RETURNS int8multirange LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_mark slipring.mark := slipring.mark_read(p_queue, 9);
    v_below slipring.mark := slipring.mark_read(p_queue, 10);
BEGIN
    RETURN v_mark.unseen + v_below.unseen
        + int8multirange(int8range(v_below.turn, greatest(v_below.turn, 0)),
            int8range(greatest(v_mark.turn, 0), {{BIGINT_MAX}}));
END $$;
