-- Purpose: the first ready messages of a standard queue of one standing, for claim_share.
-- Inputs:  p_queue, p_state; p_mark of the standing (1, 7 or 8); p_done, the cut; p_limit.
-- Lock:    the caller holds the queue's lock.
-- Index:   the partitions' order indexes, see items_first.
CREATE OR REPLACE FUNCTION slipring.claim_feed(
    p_queue slipring.queue, p_state slipring.state, p_mark slipring.mark, p_done int8multirange,
    p_limit bigint)
RETURNS slipring.feed LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_feed slipring.feed;
BEGIN
    SELECT array_agg(m.at ORDER BY m.rank, m.id), array_agg(m.turn ORDER BY m.rank, m.id),
        array_agg(m.rank ORDER BY m.rank, m.id), array_agg(m.id ORDER BY m.rank, m.id),
        array_agg(m.bytes ORDER BY m.rank, m.id), array_agg(m.lease_ms ORDER BY m.rank, m.id),
        array_agg(m.attempts ORDER BY m.rank, m.id), array_agg(m.fence ORDER BY m.rank, m.id)
    INTO v_feed FROM (
        SELECT * FROM (
            SELECT f.at, p_state.lanes[f.at] & {{PRIORITY_MAX}} AS turn,
                p_state.lanes[f.at] & {{PRIORITY_MAX}} AS rank, f.id, f.bytes,
                f.lease_ms, 0::bigint AS attempts, 0::bigint AS fence
            FROM slipring.log_feed(p_queue, p_state, p_done, p_limit) f WHERE p_mark.kind = 1
            UNION ALL
            SELECT 0, i.turn, i.priority, i.id, i.bytes, i.lease_ms, i.attempts, i.fence
            FROM slipring.items_first(p_mark, p_done, p_limit) i) m
        ORDER BY m.rank, m.id LIMIT p_limit) m;
    RETURN v_feed;
END $$;
