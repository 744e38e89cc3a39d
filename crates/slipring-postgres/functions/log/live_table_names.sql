-- Purpose: the tables of all generations of a queue that may have messages which count, the oldest
--          first.
-- Inputs:  p_queue, p_state.
-- Lock:    the caller holds the queue's lock, so that the generation stands; or see queue_hold. Shared
--          tables are locked by both, see place_enter: these two are all that may be written.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.live_table_names(
    p_queue slipring.queue, p_state slipring.state)
RETURNS text[] LANGUAGE plpgsql STABLE AS $$
DECLARE
    -- Below the lowest one it stands while the queue is being deleted, see queue_lock.
    v_now bigint := greatest(pg_sequence_last_value(p_queue.generation), p_state.generation_low);
    v_low bigint;
BEGIN
    IF p_queue.generation_low IS NOT NULL THEN
        v_low := pg_sequence_last_value(p_queue.generation_low);
        v_now := pg_sequence_last_value(p_queue.generation);
        -- Three after an import.
        RETURN ARRAY(SELECT format('slipring.message_%s_%s', p_queue.place, g % 3)
            FROM generate_series(v_low, greatest(v_low + 1, v_now)) g ORDER BY g);
    END IF;
    IF v_now = p_state.generation_low THEN
        RETURN ARRAY[format('slipring.message_%s_%s', p_queue.place, v_now % 3)];
    END IF;
    RETURN ARRAY(SELECT format('slipring.message_%s_%s', p_queue.place, g % 3)
        FROM generate_series(p_state.generation_low, v_now) g ORDER BY g);
END $$;
