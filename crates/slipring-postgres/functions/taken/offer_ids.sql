-- Purpose: the first messages of a lane, for an offer.
-- Inputs:  p_tables, see live_table_names; p_lane; p_ready, the ids to look at; p_limit, how many at most.
-- Lock:    as live_tables.
-- Index:   see taken_look, a range for each run of ids, as far as it lists.
-- Answers: the ids, ascending, without a gap where a message is.
CREATE OR REPLACE FUNCTION slipring.offer_ids(
    p_tables text[], p_lane bigint, p_ready int8multirange, p_limit bigint)
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    v_ids bigint[] := '{}';
BEGIN
    IF p_limit < {{OFFER_MESSAGES_MIN}} OR isempty(p_ready) THEN
        RETURN v_ids;
    END IF;
    EXECUTE 'SELECT ARRAY(SELECT k FROM unnest($2) r CROSS JOIN LATERAL '
        || slipring.taken_look(p_tables, 'lower(r)', 'upper(r)') || ' m
        CROSS JOIN LATERAL generate_series(greatest(m.id - coalesce(m.n, 1) + 1, lower(r)),
            least(m.id, upper(r) - 1)) k LIMIT $3)'
    INTO v_ids USING p_lane, p_ready, p_limit, 0;
    RETURN v_ids;
END $$;
