-- Purpose: the generation of a queue's message tables that is written now.
-- Inputs:  p_queue as read before. The caller has its transaction number already.
-- Lock:    none; read outside MVCC. Below 0, where the queue is being deleted or a deletion has not been
--          committed, the queue's lock is waited for and given back.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.generation_now(p_queue slipring.queue)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_generation bigint := pg_sequence_last_value(p_queue.generation);
BEGIN
    IF v_generation < 0 THEN
        BEGIN
            -- Puts it right where the queue is there still. That is not taken back with the block, as its
            -- locks are.
            PERFORM slipring.queue_lock(p_queue.queue_id);
            RAISE EXCEPTION USING ERRCODE = 'SR100';
        EXCEPTION WHEN SQLSTATE 'SR100' THEN
            v_generation := pg_sequence_last_value(p_queue.generation);
        END;
    END IF;
    IF v_generation < 0 THEN
        PERFORM slipring.queue_gone(p_queue.queue_id, p_queue.name);
    END IF;
    RETURN v_generation;
END $$;
