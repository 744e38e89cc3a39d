-- Purpose: makes the state of a queue fit its tables in a database that was restored: a dump has rows as
--          they were when it began, but sequences, and what has been emptied, as of later.
-- Inputs:  p_queue; p_now_ms.
-- Lock:    none; the caller sees to it that no other session uses the store, see store_import.
-- Index:   state_newest; see import_state.
CREATE OR REPLACE FUNCTION slipring.import_generation(p_queue slipring.queue, p_now_ms bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_low bigint := (SELECT s.generation_low FROM slipring.state s
        WHERE s.queue_id = p_queue.queue_id ORDER BY s.seq DESC LIMIT 1);
    v_now bigint := greatest(pg_sequence_last_value(p_queue.generation), v_low, 0);
    v_state slipring.state;
BEGIN
    PERFORM setval(p_queue.generation, v_now);
    IF v_low IS NULL THEN
        PERFORM slipring.import_state(p_queue, p_now_ms);
    END IF;
    -- Each of the three tables may have messages: that of the oldest generation which can be there,
    -- and that of the next one, are the one that is written next and the one after it.
    v_state := slipring.state_read(p_queue);
    IF v_low IS NULL OR v_state.generation_low < v_now - 2 THEN
        v_state.seq := v_state.seq + 1;
        v_state.generation_low := greatest(v_now - 2, 0);
        v_state.generation_mark := NULL;
        PERFORM slipring.state_write(p_queue, v_state);
    END IF;
END $$;
