-- Purpose: whether a message table has a message of given numbers.
-- Inputs:  p_table; p_lanes, and of each the numbers.
-- Lock:    the caller's.
-- Index:   the table's order index, a step for each range.
CREATE OR REPLACE FUNCTION slipring.log_any(
    p_table text, p_lanes bigint[], p_ids int8multirange[])
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_found boolean;
BEGIN
    EXECUTE format('SELECT EXISTS (SELECT FROM unnest($1, $2) AS l(lane, ids)
        CROSS JOIN LATERAL slipring.spans(l.ids) s
        CROSS JOIN LATERAL (SELECT FROM %s m LIMIT 1) m)',
        slipring.log_rows(p_table, 'l.lane', 's.first', 's.past'))
    INTO v_found USING p_lanes, p_ids;
    RETURN v_found;
END $$;
