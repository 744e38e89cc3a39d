-- Purpose: locks the first messages that no other transaction has locked, where some are in packs.
-- Inputs:  as taken_lane; p_rows, how many rows to look at, after p_skip others.
-- Lock:    see taken_lane.
-- Index:   see taken_apart.
-- Answers: how many were locked; the part that was looked at, with no end if nothing is beyond;
--          those of it that others have.
CREATE OR REPLACE FUNCTION slipring.taken_packs(
    p_queue slipring.queue, p_tables text[], p_lane bigint, p_todo int8multirange, p_want bigint,
    p_rows bigint, p_skip bigint, p_all boolean, OUT n bigint, OUT there int8range,
    OUT others int8multirange)
LANGUAGE plpgsql AS $$
DECLARE
    v_look text := format('WITH c AS MATERIALIZED (
            SELECT m.id, m.low, m.size, m.pack, sum(m.size) OVER (ROWS UNBOUNDED PRECEDING) AS till FROM (
                SELECT m.id, greatest(lower(r), m.id - coalesce(m.n, 1) + 1) AS low,
                    least(upper(r), m.id + 1) - greatest(lower(r), m.id - coalesce(m.n, 1) + 1)
                    AS size, m.n IS NOT NULL AS pack
                FROM unnest($2) r CROSS JOIN LATERAL %s m
                LIMIT $3 OFFSET $4) m),
        w AS MATERIALIZED (SELECT count(*) AS n FROM c
            WHERE c.till - c.size < $5 AND (c.size = 1 OR c.till <= $5))
        SELECT array_agg(c.id) AS ids, array_agg(c.low) AS lows, array_agg(c.size) AS sizes,
            array_agg(c.pack) AS packs,
            count(*) AS n, %s AS locked
        FROM c', slipring.taken_look(p_tables, 'lower(r)', 'upper(r)'), (
            SELECT string_agg(format('ARRAY(
                SELECT m.id FROM %s m WHERE m.lane = $1 AND m.id = ANY (ARRAY(
                    SELECT c.id FROM c WHERE c.size = 1 OR c.till <= $5))
                ORDER BY m.id LIMIT (SELECT w.n FROM w) FOR UPDATE SKIP LOCKED)', t), ' || ')
            FROM unnest(p_tables) t));
    v_seen record;
    v_row record;
    v_some int8multirange;
    v_table text;
    v_ids bigint[];
BEGIN
    EXECUTE v_look INTO v_seen USING p_lane, p_todo, p_rows, p_skip, p_want;
    n := 0;
    others := '{}';
    -- A pack of which some messages are taken stands in several rows of the look.
    there := int8range(CASE WHEN p_skip > 0 THEN v_seen.lows[1] END,
        CASE WHEN v_seen.n = p_rows THEN v_seen.lows[p_rows] + v_seen.sizes[p_rows] END);
    IF cardinality(v_seen.locked) < v_seen.n THEN
        SELECT coalesce(sum(u.size) FILTER (WHERE u.mine), 0),
            coalesce(range_agg(int8range(u.low, u.low + u.size)) FILTER (WHERE NOT u.mine), '{}')
        INTO n, others
        FROM (SELECT u.low, u.size, u.id IN (SELECT unnest(v_seen.locked)) AS mine
              FROM unnest(v_seen.ids, v_seen.lows, v_seen.sizes) AS u(id, low, size)) u;
    END IF;
    -- Each message is a lock of its own, of which a database has few thousand: so of one pack.
    FOR v_row IN
        SELECT u.id, u.low, u.size
        FROM unnest(v_seen.ids, v_seen.lows, v_seen.sizes, v_seen.packs) AS u(id, low, size, pack)
        WHERE u.pack AND n < p_want AND int8range(u.low, u.low + u.size) <@ others
    LOOP
        v_some := slipring.taken_of_pack(p_queue, p_tables, p_lane, v_row.id,
            int8range(v_row.low, v_row.low + v_row.size), p_want - n);
        n := n + (SELECT coalesce(sum(upper(r) - lower(r)), 0) FROM unnest(v_some) r);
        others := others - v_some;
        EXIT WHEN n >= p_want OR NOT (p_all OR isempty(v_some));
    END LOOP;
    -- What is not in a pack and stands behind packs that others have.
    FOREACH v_table IN ARRAY p_tables LOOP
        EXIT WHEN n >= p_want OR isempty(others);
        EXECUTE 'SELECT ARRAY(SELECT m.id FROM ' || v_table || ' m
            WHERE m.lane = $1 AND m.id = ANY ($2) ORDER BY m.id LIMIT $3 FOR UPDATE SKIP LOCKED)'
        INTO v_ids USING p_lane, ARRAY(SELECT u.id FROM unnest(v_seen.ids, v_seen.packs) AS u(id, pack)
            WHERE NOT u.pack AND u.id <@ others), p_want - n;
        n := n + cardinality(v_ids);
        others := others - coalesce((SELECT range_agg(int8range(i, i + 1)) FROM unnest(v_ids) i), '{}');
    END LOOP;
    IF cardinality(v_seen.locked) = v_seen.n THEN
        n := n + (SELECT coalesce(sum(s), 0) FROM unnest(v_seen.sizes) s);
    END IF;
END $$;
