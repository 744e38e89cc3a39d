-- Purpose: one step of the rotation of shared message tables, if one is due. The steps: begin the next
--          generation, and the move of a queue that has filled this one (see place_largest); note, in a later
--          transaction, the mark: transactions with higher numbers write to the new table only; move what is left in the old table to the shelf, a queue at a time;
--          stop reading the old table; empty it when no transaction reads it.
-- Inputs:  p_place; p_moved, whether the generation was seen to have moved before the transaction had its
--          number; the rest as store_rotate.
-- Lock:    the caller holds the lock of rotation; see place_retire; ACCESS EXCLUSIVE on a table that is
--          emptied, which is only tried.
-- Index:   see place_retire.
-- Answers: whether it did a step.
CREATE OR REPLACE FUNCTION slipring.place_step(
    p_place slipring.place_rotation, p_moved boolean, p_now_ms bigint, p_bytes_min bigint,
    p_age_ms bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_generation regclass := format('slipring.place_generation_%s', p_place.place)::regclass;
    v_oldest regclass := format('slipring.place_low_%s', p_place.place)::regclass;
    v_now bigint := pg_sequence_last_value(v_generation);
    v_low bigint := pg_sequence_last_value(v_oldest);
    v_table text := format('slipring.message_%s_%s', p_place.place, v_low % 3);
    v_before text := format('slipring.message_%s_%s', p_place.place, (v_low + 2) % 3);
    v_bytes bigint := pg_relation_size(v_table::regclass);
    -- After an import all three may be in use.
    v_emptied boolean := v_now > v_low + 1 OR pg_relation_size(v_before::regclass) = 0;
    v_step record;
BEGIN
    IF p_place.generation <> v_low THEN
        p_place.mark := NULL;
        p_place.passed := 0;
    END IF;
    IF NOT v_emptied THEN
        -- Its messages were let go of by an earlier transaction, see dump_begins.
        IF NOT slipring.dump_begins() AND slipring.tables_lock(v_before) THEN
            EXECUTE format('TRUNCATE %s', v_before);
            RETURN true;
        END IF;
    END IF;
    IF v_now = v_low THEN
        -- A transaction may still read the table before that began when it counted, be it empty: see
        -- place_enter.
        IF NOT slipring.rotation_due(v_bytes, slipring.rotation_worth(v_bytes, p_bytes_min),
                p_place.since_ms, p_now_ms, p_bytes_min, p_age_ms)
            OR NOT slipring.tables_lock(v_before) THEN
            RETURN false;
        END IF;
        UPDATE slipring.place_rotation r SET since_ms = p_now_ms, mark = NULL WHERE r.place = p_place.place;
        INSERT INTO slipring.place_move (queue_id, place_from)
        SELECT q, p_place.place
        FROM slipring.place_largest(p_place.place, v_table, v_bytes, p_bytes_min) q
        -- Not on conflict: a row that is being deleted would be waited for.
        WHERE q IS NOT NULL AND NOT EXISTS (SELECT FROM slipring.place_move m WHERE m.queue_id = q);
        PERFORM setval(v_generation, v_now + 1);
        RETURN true;
    ELSIF p_place.mark IS NULL THEN
        -- As in rotate_queue.
        IF NOT p_moved THEN
            RETURN false;
        END IF;
        UPDATE slipring.place_rotation r SET mark = pg_current_xact_id()::text::bigint,
            passed = 0, generation = v_low
        WHERE r.place = p_place.place;
        RETURN true;
    ELSIF pg_snapshot_xmin(pg_current_snapshot())::text::bigint < p_place.mark
        OR NOT v_emptied THEN
        -- A table is let go of when the one before it is empty.
        RETURN false;
    END IF;
    v_step := slipring.place_retire(p_place, v_table, p_now_ms, p_age_ms);
    IF v_step.left THEN
        RETURN v_step.moved;
    END IF;
    PERFORM setval(v_oldest, v_low + 1);
    RETURN true;
END $$;
