-- Purpose: locks the first messages that no other transaction has locked, where none is in a pack.
-- Inputs:  p_tables, see live_table_names; p_lane; p_todo; p_ids, ascending, all of p_todo between
--          the first and the last of them, or null; p_want, how many at most.
-- Lock:    see taken_apart.
-- Index:   the partitions' order indexes, a range for each run of ids.
-- Answers: how many were locked; the last one that was tried, null when that is all of them; those up
--          to it that others have.
CREATE OR REPLACE FUNCTION slipring.taken_singles(
    p_tables text[], p_lane bigint, p_todo int8multirange, p_ids bigint[], p_want bigint,
    OUT n bigint, OUT last bigint, OUT others int8multirange)
LANGUAGE plpgsql AS $$
DECLARE
    v_last bigint := p_ids[cardinality(p_ids)];
    v_part int8multirange := p_todo * int8multirange(int8range(p_ids[1], v_last, '[]'));
    v_one boolean := v_part = int8multirange(range_merge(v_part));
    v_locked bigint[] := '{}';
    v_some bigint[];
BEGIN
    others := '{}';
    FOR v_at IN 1..CASE WHEN p_ids IS NULL THEN 0 ELSE cardinality(p_tables) END LOOP
        EXIT WHEN cardinality(v_locked) >= p_want;
        -- Planned at each call: by ranges, for a list of ids takes ten times as long.
        EXECUTE CASE WHEN v_one THEN 'SELECT ARRAY(SELECT m.id FROM ' || p_tables[v_at] || ' m
                WHERE m.lane = $1 AND m.id >= $4 AND m.id <= $5
                ORDER BY m.id LIMIT $3 FOR UPDATE SKIP LOCKED)'
            ELSE 'SELECT ARRAY(SELECT m.id FROM unnest($2) r CROSS JOIN LATERAL (
                SELECT m.id FROM ' || p_tables[v_at] || ' m WHERE m.lane = $1 AND m.id >= lower(r)
                    AND m.id < upper(r) ORDER BY m.id LIMIT $3 FOR UPDATE SKIP LOCKED) m LIMIT $3)'
            END
        INTO v_some USING p_lane, v_part, p_want - cardinality(v_locked), p_ids[1], v_last;
        v_locked := v_locked || v_some;
    END LOOP;
    n := cardinality(v_locked);
    IF n >= p_want AND cardinality(p_tables) = 1 AND v_locked[n] < v_last THEN
        last := v_locked[n];
        IF last = p_ids[n] THEN
            RETURN;
        END IF;
    ELSIF n = coalesce(cardinality(p_ids), 0) THEN
        RETURN;
    END IF;
    others := coalesce((SELECT range_agg(int8range(i, i + 1)) FROM unnest(p_ids) i
        WHERE i <> ALL (v_locked) AND i <= coalesce(last, i)), '{}');
END $$;
