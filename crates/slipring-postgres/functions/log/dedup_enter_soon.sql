-- Purpose: dedup_enter for messages of several callers, of whom none waits for another one's id: a unit is refused
--          whose id a transaction has entered that has not ended (S10.4).
-- Inputs:  as dedup_enter; p_units, how many messages each unit has.
-- Lock:    as dedup_enter, but it waits 100 ms at most for an id; then for the ids of each unit 20 ms, and 1 ms when
--          it has done so for 100 ms. Then they are not entered in their order: of two that wait for each
--          other both are refused.
-- Index:   see dedup_enter.
-- Answers: as dedup_enter; and for each message null, or the facts of the error; null where none is refused. In a
--          FIFO queue the units behind a refused one that have messages of its groups are refused too (S7.3).
CREATE OR REPLACE FUNCTION slipring.dedup_enter_soon(
    p_queue slipring.queue, p_now_ms bigint, p_before bigint, p_units int[], p_groups text[],
    p_dedup_ids text[], OUT firsts bigint[], OUT refused jsonb[])
LANGUAGE plpgsql SET lock_timeout = '100ms' AS $$
DECLARE
    v_until timestamptz;
    v_unit record;
    v_kept text[] := '{}';
    v_busy boolean;
BEGIN
    BEGIN
        firsts := slipring.dedup_enter(p_queue, p_now_ms, p_before, p_groups, p_dedup_ids, NULL);
        RETURN;
    EXCEPTION WHEN lock_not_available THEN
        v_until := clock_timestamp() + interval '100 ms';
    END;
    refused := array_fill(NULL::jsonb, ARRAY[cardinality(p_dedup_ids)]);
    FOR v_unit IN
        SELECT u.last - u.size AS before, u.size, ARRAY(SELECT DISTINCT coalesce(g, '')
            FROM unnest(p_groups[u.last - u.size + 1:u.last]) g) AS groups,
            p_groups[u.last - u.size + 1:u.last] AS names, p_dedup_ids[u.last - u.size + 1:u.last] AS ids
        FROM (SELECT size, n, sum(size) OVER (ORDER BY n)::int AS last
              FROM unnest(p_units) WITH ORDINALITY AS s(size, n)) u
        WHERE u.size > 0 ORDER BY u.n
    LOOP
        v_busy := v_unit.groups && v_kept;
        IF NOT v_busy AND array_remove(v_unit.ids, NULL) <> '{}' THEN
            PERFORM set_config('lock_timeout',
                CASE WHEN clock_timestamp() < v_until THEN '20ms' ELSE '1ms' END, true);
            BEGIN
                PERFORM slipring.dedup_enter(p_queue, p_now_ms, p_before + v_unit.before, v_unit.names,
                    v_unit.ids, NULL);
            EXCEPTION WHEN lock_not_available THEN
                v_busy := true;
            END;
        END IF;
        IF v_busy THEN
            refused[v_unit.before + 1:v_unit.before + v_unit.size] := array_fill(jsonb_build_object(
                'queue', p_queue.name, 'error', 'storage_unavailable', 'text', CASE WHEN v_unit.groups && v_kept
                    THEN 'a message that is before this one in its group is to be sent again later: '
                    ELSE 'a transaction that has not ended has sent a message with the same deduplication id: '
                    END || 'nothing is stored, send again later'), ARRAY[v_unit.size]);
            v_kept := CASE WHEN p_queue.fifo THEN v_kept || v_unit.groups ELSE v_kept END;
        END IF;
    END LOOP;
    PERFORM set_config('lock_timeout', '100ms', true);
    firsts := slipring.dedup_enter(p_queue, p_now_ms, p_before, p_groups, p_dedup_ids, refused);
    IF array_remove(refused, NULL) = '{}' THEN
        refused := NULL;
    END IF;
END $$;
