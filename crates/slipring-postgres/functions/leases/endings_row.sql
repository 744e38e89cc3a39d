-- Purpose: the transaction that noted last that leases of a queue which shares tables have ended: the one
--          that locked the queue's row of kind 1 last, whose number stands in the row outside MVCC.
-- Inputs:  p_queue.
-- Lock:    none.
-- Index:   lock_row_pkey.
-- Answers: its number, which may be that of a subtransaction; 0 where it was so long ago that the row has
--          forgotten it.
CREATE OR REPLACE FUNCTION slipring.endings_row(p_queue int)
RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_next bigint := pg_snapshot_xmax(pg_current_snapshot())::text::bigint;
    v_low bigint := (SELECT l.xmax::text::bigint FROM slipring.lock_row l
        WHERE l.queue_id = p_queue AND l.kind = 1);
BEGIN
    IF coalesce(v_low, 0) = 0 THEN
        RETURN 0;
    END IF;
    -- The row has the lower half of a number that is at most two thousand million back.
    RETURN v_next - ((v_next - v_low + 2147483648) & 4294967295) + 2147483648;
END $$;
