-- Purpose: the messages that claim_share gives, in hand-out order.
-- Inputs:  p_feeds as given to it; p_standings, its answer.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.claim_given(
    p_feeds slipring.feed[], p_standings int[])
RETURNS slipring.feed LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_given slipring.feed;
BEGIN
    SELECT array_agg(f.at ORDER BY d.n), array_agg(f.turn ORDER BY d.n),
        array_agg(f.rank ORDER BY d.n), array_agg(f.id ORDER BY d.n),
        array_agg(f.size ORDER BY d.n), array_agg(f.own ORDER BY d.n),
        array_agg(f.attempts ORDER BY d.n), array_agg(f.fence ORDER BY d.n)
    INTO v_given
    FROM (SELECT u.standing, u.n, row_number() OVER (PARTITION BY u.standing ORDER BY u.n) AS nth
          FROM unnest(p_standings) WITH ORDINALITY AS u(standing, n)) d
    JOIN (SELECT s.standing, f.* FROM generate_series(1, 3) AS s(standing)
          CROSS JOIN LATERAL unnest((p_feeds[s.standing]).ats, (p_feeds[s.standing]).turns,
              (p_feeds[s.standing]).ranks, (p_feeds[s.standing]).ids, (p_feeds[s.standing]).sizes,
              (p_feeds[s.standing]).own, (p_feeds[s.standing]).attempts,
              (p_feeds[s.standing]).fences) WITH ORDINALITY
              AS f(at, turn, rank, id, size, own, attempts, fence, nth)) f
        ON f.standing = d.standing AND f.nth = d.nth;
    RETURN v_given;
END $$;
