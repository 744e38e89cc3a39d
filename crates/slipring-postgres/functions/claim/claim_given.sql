-- Purpose: the messages that claim_share gives, in hand-out order.
-- Inputs:  p_feeds as given to it; p_standings, its answer.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.claim_given(
    p_feeds slipring.feed[], p_standings int[])
RETURNS slipring.feed LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_new slipring.feed := p_feeds[1];
    v_old slipring.feed := p_feeds[2];
    v_bad slipring.feed := p_feeds[3];
    v_given slipring.feed;
BEGIN
    -- Those of a standing are given in their order, so the first of them has the first place.
    SELECT array_agg(f.at ORDER BY f.n), array_agg(f.turn ORDER BY f.n),
        array_agg(f.rank ORDER BY f.n), array_agg(f.id ORDER BY f.n),
        array_agg(f.size ORDER BY f.n), array_agg(f.own ORDER BY f.n),
        array_agg(f.attempts ORDER BY f.n), array_agg(f.fence ORDER BY f.n)
    INTO v_given FROM (
        SELECT * FROM unnest(v_new.ats, v_new.turns, v_new.ranks, v_new.ids, v_new.sizes, v_new.own,
            v_new.attempts, v_new.fences, array_positions(p_standings, 1))
            AS f(at, turn, rank, id, size, own, attempts, fence, n)
        UNION ALL
        SELECT * FROM unnest(v_old.ats, v_old.turns, v_old.ranks, v_old.ids, v_old.sizes, v_old.own,
            v_old.attempts, v_old.fences, array_positions(p_standings, 2))
        UNION ALL
        SELECT * FROM unnest(v_bad.ats, v_bad.turns, v_bad.ranks, v_bad.ids, v_bad.sizes, v_bad.own,
            v_bad.attempts, v_bad.fences, array_positions(p_standings, 3))) f
    WHERE f.n IS NOT NULL;
    RETURN v_given;
END $$;
