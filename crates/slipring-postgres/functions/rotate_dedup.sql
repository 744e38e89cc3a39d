-- Purpose: one step of the rotation of deduplication ids, if one is due: write to the next
--          generation; mark it in a later transaction; note when everybody who writes to the old
--          one only is done; empty the old one when its windows are over, so that nothing is
--          copied; note it.
-- Inputs:  as store_rotate.
-- Lock:    the caller holds the lock of rotation. ACCESS EXCLUSIVE on the old table, for which it
--          waits 20 ms at most.
-- Index:   dedup_until, one step.
-- Answers: whether it did a step.
CREATE OR REPLACE FUNCTION slipring.rotate_dedup(
    p_now_ms bigint, p_bytes_min bigint, p_age_ms bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_now bigint := pg_sequence_last_value('slipring.dedup_now');
    v_low bigint := pg_sequence_last_value('slipring.dedup_low');
    v_mark bigint := pg_sequence_last_value('slipring.dedup_mark');
    v_table text := format('slipring.dedup_%s', v_low % 3);
    v_bytes bigint;
BEGIN
    IF v_now = v_low THEN
        v_bytes := pg_relation_size(v_table::regclass);
        IF v_bytes < p_bytes_min AND (v_bytes < least(p_bytes_min, 1048576) OR p_now_ms
                < pg_sequence_last_value('slipring.dedup_since') + p_age_ms) THEN
            RETURN false;
        END IF;
        PERFORM setval('slipring.dedup_since', greatest(p_now_ms, 0)),
            setval('slipring.dedup_mark', 0), setval('slipring.dedup_now', v_now + 1);
        RETURN true;
    ELSIF v_mark = 0 THEN
        -- As in rotate_queue: the number that this transaction gets now is higher than that of
        -- everybody who read the old generation.
        IF pg_current_xact_id_if_assigned() IS NOT NULL THEN
            RETURN false;
        END IF;
        PERFORM setval('slipring.dedup_mark', pg_current_xact_id()::text::bigint);
        RETURN true;
    ELSIF pg_snapshot_xmin(pg_current_snapshot())::text::bigint < v_mark THEN
        RETURN false;
    ELSIF pg_sequence_last_value('slipring.dedup_settled') < v_now THEN
        PERFORM setval('slipring.dedup_settled', v_now);
        RETURN true;
    ELSIF pg_relation_size(v_table::regclass) = 0 THEN
        PERFORM setval('slipring.dedup_low', v_now);
        RETURN true;
    ELSIF (SELECT d.until_ms FROM slipring.dedup d WHERE d.slot = v_low % 3
           ORDER BY d.until_ms DESC LIMIT 1) > p_now_ms THEN
        RETURN false;
    END IF;
    BEGIN
        PERFORM set_config('lock_timeout', '20ms', true);
        EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', v_table);
        EXECUTE format('TRUNCATE %s', v_table);
    EXCEPTION WHEN lock_not_available THEN
        -- Somebody is in the table; a later step tries again.
        RETURN false;
    END;
    RETURN true;
END $$;
