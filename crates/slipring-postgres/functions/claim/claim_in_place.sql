-- Purpose: ready messages with pictures that are no failing ones, in hand-out order.
-- Inputs:  p_new, those never tried, and p_old, those with one to three attempts.
-- Lock:    none.
-- Index:   none.
-- Answers: a feed with the standings in place of ats.
CREATE OR REPLACE FUNCTION slipring.claim_in_place(p_new slipring.feed, p_old slipring.feed)
RETURNS slipring.feed LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_all slipring.feed;
BEGIN
    SELECT array_agg(f.standing ORDER BY f.rank, f.id), array_agg(f.rank ORDER BY f.rank, f.id),
        array_agg(f.id ORDER BY f.rank, f.id), array_agg(f.size ORDER BY f.rank, f.id),
        array_agg(f.attempts ORDER BY f.rank, f.id)
    INTO v_all.ats, v_all.ranks, v_all.ids, v_all.sizes, v_all.attempts FROM (
        SELECT 1 AS standing, n.*
        FROM unnest(p_new.ranks, p_new.ids, p_new.sizes, p_new.attempts)
            AS n(rank, id, size, attempts)
        UNION ALL
        SELECT 2, o.* FROM unnest(p_old.ranks, p_old.ids, p_old.sizes, p_old.attempts) o) f;
    RETURN v_all;
END $$;
