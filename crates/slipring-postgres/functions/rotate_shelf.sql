-- Purpose: one step of the rotation of the shelf, if one is due: those of generation_step; then
--          copy what lives, queue by queue; empty the old generation; note it. It is due when what
--          was written since the last time is as much as what lived then and p_bytes_min more, so
--          that nothing is copied more than once for each time it, or as much else, was written.
-- Inputs:  as store_rotate.
-- Lock:    the caller holds the lock of rotation; see shelf_copy, shelf_empty.
-- Index:   see shelf_waits.
-- Answers: whether it did a step.
CREATE OR REPLACE FUNCTION slipring.rotate_shelf(
    p_now_ms bigint, p_bytes_min bigint, p_age_ms bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_now bigint := pg_sequence_last_value('slipring.shelf');
    v_slot int := pg_sequence_last_value('slipring.shelf_low') % 3;
    v_bytes bigint := slipring.shelf_bytes(v_slot)
        - 2 * pg_sequence_last_value('slipring.shelf_kept');
    v_step boolean := slipring.generation_step('slipring.shelf', 'slipring.shelf_low',
        'slipring.shelf_mark', 'slipring.shelf_since', v_bytes,
        v_bytes >= least(p_bytes_min, 1048576), p_now_ms, p_bytes_min, p_age_ms);
    v_queue int;
    v_left int := 20;
BEGIN
    IF v_step IS NOT NULL THEN
        RETURN v_step;
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
