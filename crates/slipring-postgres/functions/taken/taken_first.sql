-- Purpose: locks the first message of a lane that no other transaction has locked.
-- Inputs:  p_queue; p_tables, see live_table_names; p_lane; p_todo, the ids to look at, not empty.
-- Lock:    the message's, advisory, as of a message in a pack: a row that others have locked costs more
--          to pass over. The row's with others, for those who lock rows: see taken_singles. Both to the
--          end of the transaction, the message's also where others have the row.
-- Index:   the partitions' order indexes, a range for each run of ids, as far as others have all of
--          it; one step back.
-- Answers: the row, and the message of it; the numbers to take with it, of which no other is that of a
--          message. No row where others have all; no region where others have the row, or in a pack all
--          messages.
CREATE OR REPLACE FUNCTION slipring.taken_first(
    p_queue slipring.queue, p_tables text[], p_lane bigint, p_todo int8multirange,
    OUT message slipring.message, OUT id bigint, OUT region int8multirange)
LANGUAGE plpgsql AS $$
DECLARE
    v_one boolean := p_todo = int8multirange(range_merge(p_todo));
    v_key bigint := p_queue.lock_key # 1;
    v_where text := ' m WHERE m.lane = $1 AND m.id >= %1$s AND m.id < least(%2$s, {{PACK_LOOK_MAX}})
        + {{PACK_MESSAGES_MAX}} AND CASE WHEN m.n IS NOT NULL THEN m.id - m.n + 1 < %2$s
            WHEN m.id < %2$s THEN pg_try_advisory_xact_lock(hashint8extended(m.id, $4)) END
        ORDER BY m.id LIMIT 1';
    v_id bigint;
    v_low bigint;
    v_locked boolean;
BEGIN
    -- Planned at each call: these are kept short, and the rule, one run, has the shortest.
    FOR v_at IN 1..cardinality(p_tables) LOOP
        EXECUTE 'SELECT m.* FROM ' || CASE WHEN v_one
            THEN p_tables[v_at] || format(v_where, '$2', '$3')
            ELSE 'unnest($5) r CROSS JOIN LATERAL (SELECT m.* FROM ' || p_tables[v_at]
                || format(v_where, 'lower(r)', 'upper(r)') || ') m LIMIT 1' END
        INTO message USING p_lane, lower(p_todo), upper(p_todo), v_key, p_todo;
        CONTINUE WHEN message.id IS NULL;
        EXECUTE 'SELECT true, (SELECT p.id FROM ' || slipring.live_tables(p_tables) || ' p
                WHERE p.lane = $1 AND p.id >= $2 AND p.id < $3 ORDER BY p.id DESC LIMIT 1)
            FROM ' || p_tables[v_at] || ' m WHERE m.lane = $1 AND m.id = $3
            FOR KEY SHARE OF m SKIP LOCKED'
        INTO v_locked, v_low USING p_lane, lower(p_todo), message.id;
        EXIT WHEN v_locked IS NULL;
        IF message.n IS NULL THEN
            id := message.id;
        ELSE
            FOR v_id IN SELECT generate_series(r.first, r.past - 1) FROM slipring.spans(p_todo
                * int8multirange(int8range(message.id - message.n, message.id, '(]'))) r
            LOOP
                IF pg_try_advisory_xact_lock(hashint8extended(v_id, v_key)) THEN
                    id := v_id;
                    EXIT;
                END IF;
                v_low := v_id;
            END LOOP;
        END IF;
        IF id IS NOT NULL THEN
            region := p_todo * int8multirange(int8range(v_low, id, '(]'));
        END IF;
        EXIT;
    END LOOP;
END $$;
