-- Purpose: the first messages of a lane in parts, for an offer to receives of several.
-- Inputs:  p_tables, see live_table_names; p_lane; p_ready, the ids to look at; p_limit, how many messages
--          at most; p_part, about how many in a part.
-- Lock:    as live_tables.
-- Index:   see taken_look, a range for each run of ids, as far as it lists.
-- Answers: of each part the last row's id and how many messages it has: fewer than p_part and those of one
--          row. No row is in two parts.
CREATE OR REPLACE FUNCTION slipring.offer_parts(
    p_tables text[], p_lane bigint, p_ready int8multirange, p_limit bigint, p_part bigint,
    OUT ids bigint[], OUT sizes int[])
LANGUAGE plpgsql AS $$
BEGIN
    IF p_limit < p_part OR isempty(p_ready) THEN
        RETURN;
    END IF;
    -- Of a pack whose messages are in several runs the rows are peers, and the last one may lack some.
    EXECUTE 'SELECT array_agg(p.id), array_agg(p.size) FROM (
        SELECT max(m.id) AS id, sum(m.size)::int AS size FROM (
            SELECT m.id, m.size, sum(m.size) OVER w AS till, sum(m.bytes) OVER w AS bytes_till,
                count(*) OVER () AS rows, max(m.id) OVER () AS last FROM (
                SELECT m.id, m.bytes, (least(upper(r), m.id + 1)
                    - greatest(lower(r), m.id - coalesce(m.n, 1) + 1))::int AS size
                FROM unnest($2) r CROSS JOIN LATERAL '
                || slipring.taken_look(p_tables, 'lower(r)', 'upper(r)') || ' m LIMIT $3) m
            WINDOW w AS (ORDER BY m.id)) m
        WHERE m.till <= $5 AND (m.rows < $3 OR m.id < m.last)
        GROUP BY (m.till - 1) / $6, (m.bytes_till - 1) / {{OFFER_PART_BYTES}}
        ORDER BY 1 LIMIT {{OFFER_PARTS_MAX}}) p'
    INTO ids, sizes USING p_lane, p_ready,
        least({{OFFER_PARTS_MAX}} * p_part, {{OFFER_ROWS_MAX}}), 0, p_limit, p_part;
END $$;
