-- Purpose: the first messages of a lane for claim_plain, row by row, as arrays.
-- Inputs:  p_queue, p_state; p_from, the live tables; p_at, the lane's place in the state; p_todo,
--          the ids that may be read; p_up_to, at most how many; p_room, bytes of bodies after
--          which it stops.
-- Lock:    the caller holds the queue's lock.
-- Index:   the partitions' order indexes, a range for each run of ids; see log_rows for packs.
-- Answers: see the type.
CREATE OR REPLACE FUNCTION slipring.claim_read(
    p_queue slipring.queue, p_state slipring.state, p_from text, p_at int,
    p_todo int8multirange, p_up_to bigint, p_room bigint)
RETURNS slipring.lane_read LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_rows text := 'SELECT *%4$s FROM %1$s m WHERE lane = $1 AND id >= %2$s
        AND id < %3$s + {{PACK_MESSAGES_MAX}} AND id - coalesce(n, 1) + 1 < %3$s ORDER BY id LIMIT $2';
    v_one boolean := p_todo = int8multirange(range_merge(p_todo));
    v_read slipring.lane_read;
    v_lane bigint := p_state.lanes[p_at];
    -- Rows to look at: enough where most are well-filled packs.
    v_limit bigint := least(p_up_to, greatest(p_up_to / 12, 16));
    v_found bigint;
    v_packs bigint;
    v_own bigint;
    v_extras bigint;
    v_sum bigint := 0;
    v_ranges int8range[];
BEGIN
    IF p_up_to = 1 AND v_one THEN
        v_read := slipring.claim_first(p_from, v_lane, p_at, p_todo);
        IF v_read.total IS NOT NULL THEN
            RETURN v_read;
        END IF;
    END IF;
    -- These statements are planned each time: they are kept short, and the rule, one range of
    -- messages that cannot be too much together, has the shortest.
    IF v_one THEN
        v_rows := format(v_rows, p_from, lower(p_todo), upper(p_todo), '');
    ELSE
        -- The ranges come in ascending order and each is read in order: nothing is sorted.
        v_rows := format('SELECT m.* FROM unnest(%L::int8multirange) r CROSS JOIN LATERAL (%s) m
            LIMIT $2', p_todo, format(v_rows, p_from, 'lower(r)', 'upper(r)', ', r AS range'));
    END IF;
    LOOP
        IF v_limit * p_queue.message_bytes_max > p_room THEN
            EXECUTE format('SELECT sum(bytes) FROM (%s) m', v_rows) INTO v_sum
            USING v_lane, v_limit;
            IF v_sum > p_room THEN
                v_rows := format('SELECT * FROM (
                    SELECT *, sum(bytes) OVER (ROWS UNBOUNDED PRECEDING) AS so_far FROM (%s) m) m
                    WHERE so_far - bytes < %s', v_rows, p_room);
            END IF;
        END IF;
        EXECUTE format('SELECT count(*), sum(bytes), CASE WHEN min(bytes) = max(bytes)
                THEN min(bytes) END, min(lease_ms), min(lease_ms) < max(lease_ms),
            array_agg(id), array_agg(sent_ms), array_agg(body), array_agg(bytes), count(n),
            count(lease_ms), count(coalesce(headers, group_name, dedup_id)), array_agg(n::int),
            array_agg(bytes_each), %s FROM (%s) m', CASE WHEN v_one THEN 'NULL::int8range[]'
                ELSE 'array_agg(range)' END, v_rows)
        INTO v_found, v_read.bytes, v_read.bytes_each, v_read.lease_each, v_read.leases_differ,
            v_read.ids, v_read.sents_ms, v_read.bodies, v_read.sizes, v_packs, v_own, v_extras,
            v_read.ns, v_read.eachs_bytes, v_ranges
        USING v_lane, v_limit;
        v_read.total := v_found;
        IF v_packs > 0 THEN
            v_read := slipring.claim_trim(v_read, coalesce(v_ranges,
                array_fill(int8range(lower(p_todo), upper(p_todo)), ARRAY[v_found::int])),
                p_up_to);
        END IF;
        EXIT WHEN v_found < v_limit OR v_limit >= p_up_to OR v_read.total >= p_up_to
            OR v_sum > p_room;
        v_limit := least(p_up_to, v_limit * p_up_to / v_read.total * 5 / 4 + 16);
    END LOOP;
    v_read.at := p_at;
    v_read.region := p_todo;
    -- The sum is that of whole packs, as is that by which rows were left out.
    v_read.ended := v_read.total >= p_up_to OR coalesce(v_sum >= p_room, false);
    IF v_read.total = 0 THEN
        RETURN v_read;
    END IF;
    v_read.leases_differ := v_read.leases_differ OR v_own NOT IN (0, v_found);
    IF v_packs = 0 THEN
        v_read.first_id := v_read.ids[1];
        v_read.last_id := v_read.ids[v_found];
        v_read.ns := NULL;
    END IF;
    IF v_read.ended THEN
        v_read.region := p_todo * int8multirange(int8range(NULL, v_read.last_id + 1));
    END IF;
    IF v_extras > 0 THEN
        EXECUTE format('SELECT CASE WHEN count(group_name) > 0 THEN array_agg(group_name) END,
            CASE WHEN count(dedup_id) > 0 THEN array_agg(dedup_id) END,
            CASE WHEN count(headers) > 0 THEN array_agg(headers) END
            FROM (%s) m', v_rows)
        INTO v_read.groups, v_read.dedup_ids, v_read.headers_each
        USING v_lane, cardinality(v_read.ids);
    END IF;
    RETURN v_read;
END $$;
