-- Purpose: the steps with which the rotation of any group of tables begins: write to the next
--          generation when the present one is due; mark it in a later transaction; wait until
--          everybody who may write to the old one only is done.
-- Inputs:  p_now, the sequence of the generation that is written; p_low, that of the oldest one;
--          p_mark, p_since, those of the mark and of the time since when it is written; p_bytes of
--          it, or how many of these count; p_worth, see rotation_due;
--          p_last, the table without slot that every reader of a generation locks first: when it is free,
--          no transaction reads the generation before the oldest one; null where readers do not matter;
--          the rest as store_rotate. The caller has looked at nothing yet, see store_rotate.
-- Lock:    the caller holds the lock of rotation; that of tables_lock on p_last, which is only tried.
-- Index:   none.
-- Answers: whether it did a step; null when nobody writes to the old generation any more.
CREATE OR REPLACE FUNCTION slipring.generation_step(
    p_now regclass, p_low regclass, p_mark regclass, p_since regclass, p_bytes bigint,
    p_worth boolean, p_now_ms bigint, p_bytes_min bigint, p_age_ms bigint,
    p_last text DEFAULT NULL)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_now bigint := pg_sequence_last_value(p_now);
    v_mark bigint := pg_sequence_last_value(p_mark);
BEGIN
    IF v_now = pg_sequence_last_value(p_low) THEN
        IF NOT slipring.rotation_due(p_bytes, p_worth, pg_sequence_last_value(p_since), p_now_ms,
                p_bytes_min, p_age_ms) THEN
            RETURN false;
        END IF;
        -- A transaction may still read it that began when it was present: see generations_enter.
        IF p_last IS NOT NULL AND NOT slipring.tables_lock(
                format('slipring.%s_%s', p_last, (v_now + 2) % 3)) THEN
            RETURN false;
        END IF;
        PERFORM setval(p_since, greatest(p_now_ms, 0)), setval(p_mark, 0),
            setval(p_now, v_now + 1);
        RETURN true;
    ELSIF v_mark = 0 THEN
        -- As in rotate_queue: the number that this transaction gets now is higher than that of
        -- everybody who read the old generation.
        IF pg_current_xact_id_if_assigned() IS NOT NULL THEN
            RETURN false;
        END IF;
        PERFORM setval(p_mark, pg_current_xact_id()::text::bigint);
        RETURN true;
    ELSIF pg_snapshot_xmin(pg_current_snapshot())::text::bigint < v_mark THEN
        RETURN false;
    END IF;
    RETURN NULL;
END $$;
