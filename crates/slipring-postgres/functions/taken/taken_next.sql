-- Purpose: a fence for the first of several hand-outs of this transaction without the queue's lock.
-- Inputs:  p_queue. The transaction has its number.
-- Lock:    none.
-- Index:   lease_newest, one step in each slot.
-- Answers: the fence: that of taken_base, or the one after the last that this transaction has given. The
--          highest of its numbers are left for transactions that receive often.
CREATE OR REPLACE FUNCTION slipring.taken_next(p_queue slipring.queue)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    -- See taken_fences.
    v_first bigint := ((pg_current_xact_id()::text::bigint + p_queue.xid_base) << {{XID_SHIFT}})
        - {{BIGINT_MAX}} - 1;
    v_last bigint := (SELECT l.fence FROM lease l WHERE l.queue_id = p_queue.queue_id
            AND l.fence >= v_first AND l.fence < v_first + {{XID_NUMBERS}}
        ORDER BY l.fence DESC LIMIT 1);
BEGIN
    -- A receive takes one for each lane.
    IF v_last >= v_first + {{XID_NUMBERS}} - {{LANES_MAX}} THEN
        PERFORM slipring.fail_limit(p_queue.name, 'transaction_receives_max', 131056, 131057);
    END IF;
    RETURN coalesce(v_last + 1, slipring.taken_base(p_queue, slipring.now_ms()));
END $$;
