-- Purpose: bodies one by one, of rows of which some may be packs.
-- Inputs:  p_rows, the bodies of rows; p_ns, how many messages each pack has, null for others.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.pack_open(p_rows bytea[], p_ns int[])
RETURNS bytea[] LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(array_agg(CASE WHEN u.n IS NULL THEN u.body
        ELSE slipring.pack_body(u.body, u.n, k) END ORDER BY u.at, k), '{}')
    FROM unnest(p_rows, p_ns) WITH ORDINALITY AS u(body, n, at)
    CROSS JOIN LATERAL generate_series(1, coalesce(u.n, 1)) k
$$;
