-- Purpose: how many of the first messages a claim may give before it has given 64 MiB; at least
--          one where it has given none yet.
-- Inputs:  p_sizes of the messages, p_most of them at most, p_before, the bytes given already.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.claim_fits(p_sizes int[], p_most bigint, p_before bigint)
RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_left bigint := {{CLAIM_BYTES_MAX}} - p_before;
BEGIN
    IF p_most = 0 OR (SELECT sum(b) FROM unnest(p_sizes) b) <= v_left THEN
        RETURN p_most;
    END IF;
    RETURN (
        SELECT count(*) FROM (
            SELECT n, sum(b) OVER (ORDER BY n) - b AS before
            FROM unnest(p_sizes) WITH ORDINALITY AS s(b, n)) s
        WHERE s.n <= p_most AND s.before < v_left);
END $$;
