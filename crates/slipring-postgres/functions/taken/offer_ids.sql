-- Purpose: the first messages of a lane, for an offer.
-- Inputs:  p_from, see live_tables; p_lane; p_ready, the ids to look at; p_limit, how many at most.
-- Lock:    as live_tables.
-- Index:   the partitions' order indexes, a range for each run of ids, as far as it lists.
-- Answers: the ids, ascending, without a gap where a message is.
CREATE OR REPLACE FUNCTION slipring.offer_ids(
    p_from text, p_lane bigint, p_ready int8multirange, p_limit bigint)
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    v_ids bigint[] := '{}';
BEGIN
    IF p_limit < {{OFFER_MESSAGES_MIN}} OR isempty(p_ready) THEN
        RETURN v_ids;
    END IF;
    EXECUTE 'SELECT ARRAY(SELECT k FROM unnest($2) r CROSS JOIN LATERAL (SELECT m.id, m.n FROM '
        || p_from || ' m WHERE m.lane = $1 AND m.id >= lower(r)
            AND m.id < least(upper(r), {{PACK_LOOK_MAX}}) + {{PACK_MESSAGES_MAX}}
            AND m.id - coalesce(m.n, 1) + 1 < upper(r) ORDER BY m.id LIMIT $3) m
        CROSS JOIN LATERAL generate_series(greatest(m.id - coalesce(m.n, 1) + 1, lower(r)),
            least(m.id, upper(r) - 1)) k LIMIT $3)'
    INTO v_ids USING p_lane, p_ready, p_limit;
    RETURN v_ids;
END $$;
