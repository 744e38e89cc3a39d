-- Purpose: the generation of a queue's message tables that is written now.
-- Inputs:  p_queue as read before. The caller has its transaction number already.
-- Lock:    none; read outside MVCC.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.generation_now(p_queue slipring.queue)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_generation bigint := pg_sequence_last_value(p_queue.generation);
BEGIN
    IF v_generation < 0 THEN
        PERFORM slipring.queue_gone(p_queue.queue_id, p_queue.name);
    END IF;
    RETURN v_generation;
END $$;
