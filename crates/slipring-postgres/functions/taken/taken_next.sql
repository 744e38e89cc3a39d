-- Purpose: a fence for the first of several hand-outs of this transaction without the queue's lock.
-- Inputs:  p_queue. The transaction has its number.
-- Lock:    none.
-- Index:   lease_newest, one step in each slot.
-- Answers: the fence. Its lower bits are the timeline, the time in seconds and how many were given
--          before: a database that was killed, or a standby that took over, may have forgotten a
--          transaction together with its number, and give the number again (S3.2). The highest of
--          them is left for transactions that receive often.
CREATE OR REPLACE FUNCTION slipring.taken_next(p_queue slipring.queue)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    -- See taken_fences.
    v_first bigint := ((pg_current_xact_id()::text::bigint + p_queue.xid_base) << 18)
        - 9223372036854775807 - 1;
    v_last bigint := (SELECT l.fence FROM lease l
        WHERE l.queue_id = p_queue.queue_id AND l.fence >= v_first AND l.fence < v_first + 262144
        ORDER BY l.fence DESC LIMIT 1);
BEGIN
    -- A receive takes one for each lane.
    IF v_last >= v_first + 262144 - 16 THEN
        PERFORM slipring.fail_limit(p_queue.name, 'transaction_receives_max', 131056, 131057);
    END IF;
    RETURN coalesce(v_last + 1, v_first + (slipring.timeline() << 14)
        + ((slipring.now_ms() / 1000 & 1023) << 4));
END $$;
