-- Purpose: one step of the rotation of the shelf, if one is due: those of generation_step; then
--          copy what lives, a part of one queue at a time; let the old generation go; empty it. It
--          is due when what was written since the last time is as much as what lived then and
--          p_bytes_min more, so that nothing is copied more than once for each time it, or as much
--          else, was written.
-- Inputs:  as store_rotate.
-- Lock:    the caller holds the lock of rotation; that of the queue that is copied, see rotation_wait;
--          see generation_empty.
-- Index:   see shelf_waits.
-- Answers: as store_rotate.
CREATE OR REPLACE FUNCTION slipring.rotate_shelf(
    p_after int, p_now_ms bigint, p_bytes_min bigint, p_age_ms bigint,
    OUT done boolean, OUT after int)
LANGUAGE plpgsql AS $$
DECLARE
    v_now bigint := pg_sequence_last_value('slipring.shelf');
    v_low bigint := pg_sequence_last_value('slipring.shelf_low');
    v_slot int := v_low % 3;
    v_bytes bigint := slipring.shelf_bytes(v_slot)
        - 2 * pg_sequence_last_value('slipring.shelf_kept');
    v_queue slipring.queue;
BEGIN
    done := coalesce(slipring.generation_empty(v_low, slipring.shelf_tables()),
        slipring.generation_step('slipring.shelf', 'slipring.shelf_low', 'slipring.shelf_mark',
            'slipring.shelf_since', v_bytes, slipring.rotation_worth(v_bytes, p_bytes_min), p_now_ms,
            p_bytes_min, p_age_ms, 'mark'));
    IF done IS NOT NULL THEN
        RETURN;
    END IF;
    SELECT w.queue_id INTO after FROM slipring.shelf_waits(p_after, v_slot, v_now) w
        ORDER BY w.queue_id LIMIT 1;
    IF after IS NULL THEN
        -- Only a look from the first queue on shows that none is left; see rotate_journal.
        done := p_after = 0;
        IF done THEN
            PERFORM setval('slipring.shelf_kept', slipring.shelf_bytes((v_now % 3)::int)),
                setval('slipring.shelf_low', v_now);
        END IF;
        RETURN;
    END IF;
    v_queue := slipring.queue_try(after,
        slipring.rotation_wait('slipring.shelf_since', after, p_now_ms));
    done := v_queue.queue_id IS NOT NULL;
    IF done THEN
        BEGIN
            PERFORM slipring.shelf_copy(v_queue, v_slot, v_now);
        EXCEPTION WHEN OTHERS THEN
            done := slipring.aside_caught(after, p_now_ms, SQLSTATE, SQLERRM);
        END;
    END IF;
END $$;
