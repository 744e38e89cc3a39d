-- Purpose: one step of the rotation of the shelf, if one is due: write to the next generation; mark
--          it in a later transaction; when everybody who may write to the old one is done, copy
--          what lives, queue by queue; empty the old one; note it. It is due when what was written
--          since the last time is as much as what lived then and p_bytes_min more, so that
--          nothing is copied more than once for each time it, or as much else, was written.
-- Inputs:  as store_rotate.
-- Lock:    the caller holds the lock of rotation; see shelf_copy. ACCESS EXCLUSIVE on the old
--          tables, for which it waits 20 ms at most.
-- Index:   see shelf_waits.
-- Answers: whether it did a step.
CREATE OR REPLACE FUNCTION slipring.rotate_shelf(
    p_now_ms bigint, p_bytes_min bigint, p_age_ms bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_now bigint := pg_sequence_last_value('slipring.shelf');
    v_low bigint := pg_sequence_last_value('slipring.shelf_low');
    v_mark bigint := pg_sequence_last_value('slipring.shelf_mark');
    v_slot int := v_low % 3;
    v_bytes bigint;
    v_queue int;
    v_left int := 20;
BEGIN
    IF v_now = v_low THEN
        v_bytes := slipring.shelf_bytes(v_slot)
            - 2 * pg_sequence_last_value('slipring.shelf_kept');
        IF v_bytes < p_bytes_min AND (v_bytes < least(p_bytes_min, 1048576) OR p_now_ms
                < pg_sequence_last_value('slipring.shelf_since') + p_age_ms) THEN
            RETURN false;
        END IF;
        PERFORM setval('slipring.shelf_since', greatest(p_now_ms, 0)),
            setval('slipring.shelf_mark', 0), setval('slipring.shelf', v_now + 1);
        RETURN true;
    ELSIF v_mark = 0 THEN
        -- As in rotate_queue: the number that this transaction gets now is higher than that of
        -- everybody who read the old generation.
        IF pg_current_xact_id_if_assigned() IS NOT NULL THEN
            RETURN false;
        END IF;
        PERFORM setval('slipring.shelf_mark', pg_current_xact_id()::text::bigint);
        RETURN true;
    ELSIF pg_snapshot_xmin(pg_current_snapshot())::text::bigint < v_mark THEN
        RETURN false;
    END IF;
    IF slipring.shelf_rows_bytes(v_slot) = 0 THEN
        -- Emptied by a step that has committed; see rotate_journal.
        PERFORM setval('slipring.shelf_kept', slipring.shelf_bytes((v_now % 3)::int)),
            setval('slipring.shelf_low', v_now);
        RETURN true;
    END IF;
    FOR v_queue IN SELECT w.queue_id FROM slipring.shelf_waits(v_slot, v_now) w LIMIT v_left LOOP
        PERFORM slipring.shelf_copy(v_queue, v_slot, v_now);
        v_left := v_left - 1;
    END LOOP;
    IF v_left < 20 THEN
        RETURN true;
    END IF;
    RETURN slipring.shelf_empty(v_slot, v_now);
END $$;
