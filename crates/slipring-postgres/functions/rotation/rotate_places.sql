-- Purpose: a step of the rotation of shared message tables: of the first set that is due one.
-- Inputs:  p_after, the number of a set: those with higher ones; the rest as store_rotate. The
--          transaction has no number yet.
-- Lock:    the caller holds the lock of rotation; see place_step.
-- Index:   place_rotation_pkey.
-- Answers: whether it did a step; and the set to go on after, null when there is no other.
CREATE OR REPLACE FUNCTION slipring.rotate_places(
    p_after int, p_now_ms bigint, p_bytes_min bigint, p_age_ms bigint,
    OUT done boolean, OUT after int)
LANGUAGE plpgsql AS $$
DECLARE
    v_place slipring.place_rotation;
    v_moved boolean;
    v_began timestamptz := clock_timestamp();
BEGIN
    done := false;
    -- Nothing is moved or emptied in a database that was restored and not imported.
    IF (SELECT s.home_at <> s.written_at FROM slipring.store s) THEN
        RETURN;
    END IF;
    FOR v_place IN SELECT * FROM slipring.place_rotation r WHERE r.place > p_after
        AND slipring.rotation_worth(slipring.place_bytes(r.place), p_bytes_min)
        ORDER BY r.place
    LOOP
        -- One set is tried however long the look for it took.
        IF after IS NOT NULL AND slipring.turn_over(v_began) THEN
            RETURN;
        END IF;
        after := v_place.place;
        v_moved := pg_sequence_last_value(format('slipring.place_generation_%s', after)::regclass)
            <> pg_sequence_last_value(format('slipring.place_low_%s', after)::regclass);
        -- A mark has to be higher than what was read here: a transaction that has its number by now
        -- leaves such a set to the next one.
        IF v_moved AND pg_current_xact_id_if_assigned() IS NOT NULL THEN
            after := after - 1;
            RETURN;
        END IF;
        BEGIN
            done := slipring.place_step(v_place, v_moved, p_now_ms, p_bytes_min, p_age_ms);
        EXCEPTION WHEN OTHERS THEN
            -- The other sets go on.
            RAISE WARNING 'slipring: message tables % are not rotated for now: %', after, SQLERRM;
            done := false;
        END;
        IF done THEN
            RETURN;
        END IF;
    END LOOP;
    after := NULL;
END $$;
