-- Purpose: locks messages of a lane that nobody else has locked: the first ones where these are
--          free.
-- Inputs:  p_queue; p_tables, see live_table_names; p_lane; p_todo, the ids to look at; p_want, how
--          many at most; p_all, whether to look at all of them before it answers fewer.
-- Lock:    see taken_apart. A pack of which all are wanted is locked as a row of one message is; of
--          another one the row is locked with others, and each message by a lock of its own.
-- Index:   see taken_apart.
-- Answers: the ids from the first one on without those of messages that others have locked: beside
--          the locked messages it has only numbers that no message has; how many were locked, and
--          whether there are no more beyond.
CREATE OR REPLACE FUNCTION slipring.taken_lane(
    p_queue slipring.queue, p_tables text[], p_lane bigint, p_todo int8multirange, p_want bigint,
    p_all boolean, OUT free int8multirange, OUT n bigint, OUT ended boolean)
LANGUAGE plpgsql AS $$
DECLARE
    v_one boolean := p_todo = int8multirange(range_merge(p_todo));
    -- Planned at each call: they are kept short, and the rule, one run, has the shortest.
    v_look text := 'SELECT array_agg(m.id), count(m.n),
        sum(coalesce(m.n, 1)) / count(*) FROM (SELECT m.* FROM ' || CASE WHEN v_one
        THEN slipring.taken_look(p_tables, '$5', '$6') ELSE 'unnest($2) r CROSS JOIN LATERAL '
        || slipring.taken_look(p_tables, 'lower(r)', 'upper(r)') END || ' m LIMIT $3 OFFSET $4) m';
    v_try int := CASE WHEN p_all THEN 4 ELSE 0 END;
    v_rows bigint;
    v_skip bigint;
    v_ids bigint[];
    v_packs bigint;
    -- About how many messages a row has, and how many rows have what is wanted.
    v_each bigint;
    v_some bigint := p_want;
    v_part record;
    v_there int8range;
BEGIN
    free := '{}';
    n := 0;
    WHILE n < CASE WHEN p_all THEN p_want ELSE 1 END AND NOT isempty(p_todo) LOOP
        -- Where the first ones are in the hands of others, each transaction looks at another place,
        -- so that not all of them try the same; in the end at all there are, from the first on.
        v_skip := CASE WHEN v_try IN (1, 2, 3) THEN v_some * (1 + floor(random() * 64)::bigint)
            ELSE 0 END;
        v_rows := CASE WHEN v_try = 0 THEN p_want + 16 WHEN v_try < 4 THEN v_some
            ELSE 4 * v_some + 64 END;
        v_try := v_try + 1;
        EXECUTE v_look INTO v_ids, v_packs, v_each USING p_lane, p_todo, v_rows, v_skip,
            lower(p_todo), upper(p_todo);
        CONTINUE WHEN v_skip > 0 AND v_ids IS NULL;
        v_some := p_want / coalesce(v_each, 1) + 1;
        IF v_packs = 0 THEN
            v_part := slipring.taken_singles(p_tables, p_lane, p_todo, v_ids, p_want - n);
            v_there := int8range(CASE WHEN v_skip > 0 THEN v_ids[1] END,
                coalesce(v_part.last, CASE WHEN cardinality(v_ids) = v_rows THEN v_ids[v_rows] END)
                + 1);
        ELSE
            v_rows := least(v_rows, v_some * 5 / 4 + 16);
            v_part := slipring.taken_packs(p_queue, p_tables, p_lane, p_todo, p_want - n, v_rows,
                v_skip, p_all);
            v_there := v_part.there;
        END IF;
        n := n + v_part.n;
        free := free + p_todo * int8multirange(v_there) - v_part.others;
        IF v_try > 4 OR upper_inf(v_there) AND v_skip = 0 THEN
            p_todo := p_todo - int8multirange(v_there);
        END IF;
    END LOOP;
    ended := isempty(p_todo);
END $$;
