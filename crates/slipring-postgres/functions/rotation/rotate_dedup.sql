-- Purpose: one step of the rotation of deduplication ids, if one is due: those of generation_step;
--          then note that everybody who writes to the old generation only is done; empty it when
--          its windows are over, so that nothing is copied, or, after an hour, when those that
--          are not have moved; note it.
-- Inputs:  as store_rotate.
-- Lock:    the caller holds the lock of rotation; see tables_empty.
-- Index:   dedup_until, one step; see dedup_copy.
-- Answers: whether it did a step.
CREATE OR REPLACE FUNCTION slipring.rotate_dedup(
    p_now_ms bigint, p_bytes_min bigint, p_age_ms bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_now bigint := pg_sequence_last_value('slipring.dedup_now');
    v_low bigint := pg_sequence_last_value('slipring.dedup_low');
    v_table text := format('slipring.dedup_%s', v_low % 3);
    v_bytes bigint := pg_relation_size(v_table::regclass);
    v_settled boolean := v_low <> v_now AND pg_sequence_last_value('slipring.dedup_settled') = v_now;
    v_step boolean;
BEGIN
    IF v_settled AND v_bytes > 0 AND (SELECT d.until_ms FROM slipring.dedup d WHERE d.slot = v_low % 3
        ORDER BY d.until_ms DESC LIMIT 1) > p_now_ms
    THEN
        -- Before generation_step, which waits for the mark of the step before.
        RETURN slipring.generation_aged(pg_sequence_last_value('slipring.dedup_since'), p_now_ms,
            {{DEDUP_KEPT_MS}}) AND slipring.dedup_copy((v_low % 3)::int, v_now, p_now_ms) > 0;
    END IF;
    v_step := slipring.generation_step('slipring.dedup_now', 'slipring.dedup_low',
        'slipring.dedup_mark', 'slipring.dedup_since', v_bytes,
        slipring.rotation_worth(v_bytes, p_bytes_min), p_now_ms, p_bytes_min, p_age_ms);
    IF v_step IS NOT NULL THEN
        RETURN v_step;
    ELSIF NOT v_settled THEN
        PERFORM setval('slipring.dedup_settled', v_now);
        RETURN true;
    ELSIF v_bytes = 0 THEN
        PERFORM setval('slipring.dedup_low', v_now);
        RETURN true;
    END IF;
    -- A dump that has its snapshot, and no lock on the table yet, does not see what was moved out of it.
    RETURN NOT slipring.dump_begins() AND slipring.tables_empty(v_table);
END $$;
