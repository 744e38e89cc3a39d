-- Purpose: the first messages of a lane in parts, for an offer to receives of several.
-- Inputs:  p_tables, see live_table_names; p_lane; p_ready, the ids to look at; p_limit, how many messages
--          at most; p_part, about how many in a part; p_parts, how many parts at most.
-- Lock:    as live_tables.
-- Index:   see taken_look, a range for each run of ids, as far as it lists.
-- Answers: of each part the last row's id and how many messages it has: fewer than p_part and those of one
--          row. No row is in two parts.
CREATE OR REPLACE FUNCTION slipring.offer_parts(
    p_tables text[], p_lane bigint, p_ready int8multirange, p_limit bigint, p_part bigint,
    p_parts bigint, OUT ids bigint[], OUT sizes int[])
LANGUAGE plpgsql AS $$
DECLARE
    -- Enough where each row is a pack that makes a part; and where rows are messages.
    v_look bigint := p_parts + 1;
    v_look_max bigint := least(p_parts * p_part, {{OFFER_LOOK_MAX}});
    v_found bigint;
BEGIN
    IF p_limit < p_part OR isempty(p_ready) THEN
        RETURN;
    END IF;
    LOOP
        -- Of a pack whose messages are in several runs the rows are peers, and the last one may lack some.
        EXECUTE 'SELECT array_agg(p.id), array_agg(p.size), max(p.rows) FROM (
            SELECT max(m.id) AS id, sum(m.size)::int AS size, max(m.rows) AS rows FROM (
                SELECT m.id, m.size, sum(m.size) OVER w AS till, sum(m.bytes) OVER w AS bytes_till,
                    count(*) OVER () AS rows, max(m.id) OVER () AS last FROM (
                    SELECT m.id, m.bytes, (least(upper(r), m.id + 1)
                        - greatest(lower(r), m.id - coalesce(m.n, 1) + 1))::int AS size
                    FROM unnest($2) r CROSS JOIN LATERAL '
                    || slipring.taken_look(p_tables, 'lower(r)', 'upper(r)') || ' m LIMIT $3) m
                WINDOW w AS (ORDER BY m.id)) m
            WHERE m.till <= $5 AND (m.rows < $3 OR m.id < m.last)
            GROUP BY (m.till - 1) / $6, (m.bytes_till - 1) / {{OFFER_PART_BYTES}}
            ORDER BY 1 LIMIT $7) p'
        INTO ids, sizes, v_found USING p_lane, p_ready, v_look, 0, p_limit, p_part, p_parts;
        EXIT WHEN coalesce(v_found, 0) < v_look OR v_look >= v_look_max
            OR cardinality(ids) >= p_parts / 2
            OR (SELECT sum(s) FROM unnest(sizes) s) + p_part > p_limit;
        v_look := v_look_max;
    END LOOP;
END $$;
