-- Purpose: notes how far the ready messages that have pictures have been taken by a receive.
-- Inputs:  p_mark as read before; p_done, the cut of the receive; what it looked at in hand-out
--          order: p_ats (0 for a message with pictures, else a lane of the log), p_ranks, p_ids;
--          p_taken, how many of them it took; p_whole, whether there were no others.
-- Lock:    the caller holds the queue's lock.
-- Index:   mark_newest grows by one entry.
CREATE OR REPLACE FUNCTION slipring.items_taken(
    p_mark slipring.mark, p_done int8multirange, p_ats int[], p_ranks bigint[], p_ids bigint[],
    p_taken int, p_whole boolean)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_last int := coalesce(cardinality(p_ids), 0);
    v_at int := (SELECT min(n) FROM generate_series(p_taken + 1, v_last) n WHERE p_ats[n] = 0);
BEGIN
    IF v_at IS NULL AND NOT p_whole THEN
        -- All that it did not look at comes later.
        v_at := v_last;
    END IF;
    IF v_at IS NOT NULL THEN
        PERFORM slipring.mark_write(p_mark, p_ranks[v_at], p_ids[v_at], p_done);
        RETURN;
    END IF;
    -- None is left: the next ones most likely come behind the last of these.
    SELECT max(n) INTO v_at FROM generate_series(1, v_last) n WHERE p_ats[n] = 0;
    IF (p_ranks[v_at], p_ids[v_at]) > (p_mark.turn, p_mark.id) THEN
        PERFORM slipring.mark_write(p_mark, p_ranks[v_at], p_ids[v_at], p_done);
    ELSE
        PERFORM slipring.mark_write(p_mark, p_mark.turn, p_mark.id, p_done);
    END IF;
END $$;
