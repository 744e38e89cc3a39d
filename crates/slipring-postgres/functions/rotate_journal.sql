-- Purpose: one step of the rotation of state, lease and ack, if one is due: write to the next
--          generation; mark it in a later transaction; when everybody who may write to the old one
--          is done, copy what is open, queue by queue; empty the old one; note it.
-- Inputs:  as store_rotate.
-- Lock:    the caller holds the lock of rotation; see journal_copy. ACCESS EXCLUSIVE on the old
--          tables, for which it waits 20 ms at most.
-- Index:   state_newest.
-- Answers: whether it did a step.
CREATE OR REPLACE FUNCTION slipring.rotate_journal(
    p_now_ms bigint, p_bytes_min bigint, p_age_ms bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_now bigint := pg_sequence_last_value('slipring.journal');
    v_low bigint := pg_sequence_last_value('slipring.journal_low');
    v_mark bigint := pg_sequence_last_value('slipring.journal_mark');
    v_slot int := v_low % 3;
    v_bytes bigint;
    v_queue int;
    v_left int := 20;
BEGIN
    IF v_now = v_low THEN
        v_bytes := pg_relation_size(format('slipring.state_%s', v_slot)::regclass)
            + pg_relation_size(format('slipring.lease_%s', v_slot)::regclass)
            + pg_relation_size(format('slipring.ack_%s', v_slot)::regclass);
        IF v_bytes < p_bytes_min AND (NOT slipring.journal_grew(v_slot) OR p_now_ms
                < pg_sequence_last_value('slipring.journal_since') + p_age_ms) THEN
            RETURN false;
        END IF;
        PERFORM setval('slipring.journal_since', greatest(p_now_ms, 0)),
            setval('slipring.journal_mark', 0), setval('slipring.journal', v_now + 1);
        RETURN true;
    ELSIF v_mark = 0 THEN
        -- As in rotate_queue: the number that this transaction gets now is higher than that of
        -- everybody who read the old generation.
        IF pg_current_xact_id_if_assigned() IS NOT NULL THEN
            RETURN false;
        END IF;
        PERFORM setval('slipring.journal_mark', pg_current_xact_id()::text::bigint);
        RETURN true;
    ELSIF pg_snapshot_xmin(pg_current_snapshot())::text::bigint < v_mark THEN
        RETURN false;
    END IF;
    IF pg_relation_size(format('slipring.state_%s', v_slot)::regclass) = 0 THEN
        -- Emptied by a step that has committed. Had that step moved the sequence itself, then a
        -- crash before its commit would have left rows behind that nobody would empty.
        PERFORM setval('slipring.journal_low', v_low + 1);
        RETURN true;
    END IF;
    FOR v_queue IN SELECT q.queue_id FROM slipring.queue q CROSS JOIN LATERAL (
            SELECT s.journal FROM slipring.state s WHERE s.queue_id = q.queue_id
            ORDER BY s.seq DESC LIMIT 1) s
        WHERE s.journal < v_now ORDER BY q.queue_id LOOP
        PERFORM slipring.journal_copy(v_queue, v_now, p_now_ms);
        v_left := v_left - 1;
        EXIT WHEN v_left = 0;
    END LOOP;
    IF v_left < 20 THEN
        RETURN true;
    END IF;
    BEGIN
        PERFORM set_config('lock_timeout', '20ms', true);
        EXECUTE format('LOCK TABLE slipring.state_%1$s, slipring.lease_%1$s, slipring.ack_%1$s
            IN ACCESS EXCLUSIVE MODE', v_slot);
        EXECUTE format('TRUNCATE slipring.state_%1$s, slipring.lease_%1$s, slipring.ack_%1$s',
            v_slot);
    EXCEPTION WHEN lock_not_available THEN
        -- Somebody is in one of the tables; a later step tries again.
        RETURN false;
    END;
    RETURN true;
END $$;
