-- Purpose: the tables of all generations of a queue that may have messages which count, the oldest
--          first.
-- Inputs:  p_queue, p_state.
-- Lock:    the caller holds the queue's lock, so that the generation stands; or see queue_hold.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.live_table_names(
    p_queue slipring.queue, p_state slipring.state)
RETURNS text[] LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_now bigint;
BEGIN
    IF p_queue.generation_low IS NOT NULL THEN
        RETURN CASE WHEN p_queue.place_also IS NULL THEN slipring.place_tables(p_queue.place)
            ELSE slipring.place_tables(p_queue.place_also)
                || slipring.place_tables(p_queue.place) END;
    END IF;
    v_now := pg_sequence_last_value(p_queue.generation);
    -- Below 0 while the queue is being deleted, which may be rolled back, see queue_lock.
    v_now := CASE WHEN v_now < 0 THEN p_state.generation_low + 2
        ELSE greatest(v_now, p_state.generation_low) END;
    IF v_now = p_state.generation_low THEN
        RETURN ARRAY[format('slipring.message_%s_%s', p_queue.place, v_now % 3)];
    END IF;
    RETURN ARRAY(SELECT format('slipring.message_%s_%s', p_queue.place, g % 3)
        FROM generate_series(p_state.generation_low, v_now) g ORDER BY g);
END $$;
