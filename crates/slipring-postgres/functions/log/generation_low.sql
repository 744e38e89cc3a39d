-- Purpose: the oldest generation of a queue's message tables that may have messages which count.
-- Inputs:  p_queue, p_state.
-- Lock:    the caller holds the queue's lock; or see queue_hold.
-- Index:   none; read outside MVCC where the tables are shared.
CREATE OR REPLACE FUNCTION slipring.generation_low(p_queue slipring.queue, p_state slipring.state)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF p_queue.generation_low IS NULL THEN
        RETURN p_state.generation_low;
    END IF;
    RETURN pg_sequence_last_value(p_queue.generation_low);
END $$;
