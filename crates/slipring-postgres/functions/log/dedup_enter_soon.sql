-- Purpose: dedup_enter for messages of several callers, of whom none waits for another one's id: a unit is refused
--          whose id a transaction has entered that has not ended (S10.4).
-- Inputs:  as dedup_enter; p_units, how many messages each unit has.
-- Lock:    as dedup_enter, but it waits for 100 ms at most, and then for each unit with ids 20 ms. Then the ids are
--          not entered in their order: whoever would wait for ever is refused as well.
-- Index:   see dedup_enter.
-- Answers: as dedup_enter; and for each message null, or the facts of the error; null where none is refused.
CREATE OR REPLACE FUNCTION slipring.dedup_enter_soon(
    p_queue slipring.queue, p_now_ms bigint, p_before bigint, p_units int[], p_groups text[],
    p_dedup_ids text[], OUT firsts bigint[], OUT refused jsonb[])
LANGUAGE plpgsql SET lock_timeout = '100ms' AS $$
DECLARE
    v_unit record;
BEGIN
    BEGIN
        firsts := slipring.dedup_enter(p_queue, p_now_ms, p_before, p_groups, p_dedup_ids, NULL);
        RETURN;
    EXCEPTION WHEN lock_not_available THEN
        PERFORM set_config('lock_timeout', '20ms', true);
    END;
    refused := array_fill(NULL::jsonb, ARRAY[cardinality(p_dedup_ids)]);
    FOR v_unit IN
        SELECT sum(u.size) OVER (ORDER BY u.n)::int - u.size AS before, u.size
        FROM unnest(p_units) WITH ORDINALITY AS u(size, n) ORDER BY u.n
    LOOP
        CONTINUE WHEN cardinality(array_remove(
            p_dedup_ids[v_unit.before + 1:v_unit.before + v_unit.size], NULL)) = 0;
        BEGIN
            PERFORM slipring.dedup_enter(p_queue, p_now_ms, p_before + v_unit.before,
                p_groups[v_unit.before + 1:v_unit.before + v_unit.size],
                p_dedup_ids[v_unit.before + 1:v_unit.before + v_unit.size], NULL);
        EXCEPTION WHEN lock_not_available THEN
            refused[v_unit.before + 1:v_unit.before + v_unit.size] := array_fill(jsonb_build_object(
                'queue', p_queue.name, 'error', 'storage_unavailable', 'text',
                'a transaction that has not ended has sent a message with the same deduplication id: '
                'nothing is stored, send again later'), ARRAY[v_unit.size]);
        END;
    END LOOP;
    firsts := slipring.dedup_enter(p_queue, p_now_ms, p_before, p_groups, p_dedup_ids, refused);
    IF array_remove(refused, NULL) = '{}' THEN
        refused := NULL;
    END IF;
END $$;
