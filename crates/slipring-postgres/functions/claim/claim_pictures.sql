-- Purpose: the first ready messages with pictures of a standard queue, of one standing.
-- Inputs:  p_mark of the standing (1, 7 or 8); p_done, the cut; p_limit.
-- Lock:    the caller holds the queue's lock.
-- Index:   see items_first.
CREATE OR REPLACE FUNCTION slipring.claim_pictures(
    p_mark slipring.mark, p_done int8multirange, p_limit bigint)
RETURNS slipring.feed LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_feed slipring.feed;
BEGIN
    SELECT array_agg(0), array_agg(i.turn), array_agg(i.priority), array_agg(i.id),
        array_agg(i.bytes), array_agg(i.lease_ms), array_agg(i.attempts), array_agg(i.fence)
    INTO v_feed FROM slipring.items_first(p_mark, p_done, p_limit) i;
    RETURN v_feed;
END $$;
