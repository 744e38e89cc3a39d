-- Purpose: one step of the rotation of state, lease and ack, if one is due: those of
--          generation_step; then copy what is open, queue by queue; empty the old generation; note
--          it.
-- Inputs:  as store_rotate.
-- Lock:    the caller holds the lock of rotation; see journal_copy, tables_empty.
-- Index:   state_newest.
-- Answers: whether it did a step.
CREATE OR REPLACE FUNCTION slipring.rotate_journal(
    p_now_ms bigint, p_bytes_min bigint, p_age_ms bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_now bigint := pg_sequence_last_value('slipring.journal');
    v_low bigint := pg_sequence_last_value('slipring.journal_low');
    v_slot int := v_low % 3;
    v_step boolean := slipring.generation_step('slipring.journal', 'slipring.journal_low',
        'slipring.journal_mark', 'slipring.journal_since',
        pg_relation_size(format('slipring.state_%s', v_slot)::regclass)
            + pg_relation_size(format('slipring.lease_%s', v_slot)::regclass)
            + pg_relation_size(format('slipring.ack_%s', v_slot)::regclass),
        slipring.journal_grew(v_slot), p_now_ms, p_bytes_min, p_age_ms);
    v_queue int;
    v_left int := 20;
BEGIN
    IF v_step IS NOT NULL THEN
        RETURN v_step;
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
    RETURN slipring.tables_empty(format(
        'slipring.state_%1$s, slipring.lease_%1$s, slipring.ack_%1$s', v_slot));
END $$;
