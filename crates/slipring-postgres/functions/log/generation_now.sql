-- Purpose: the generation of a queue's message tables that is written now.
-- Inputs:  p_queue as read before. The caller has its transaction number already.
-- Lock:    mostly none; read outside MVCC. Below 0, where the queue is being deleted or a deletion has not been
--          committed, the queue's lock is waited for and given back.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.generation_now(p_queue slipring.queue)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    -- The sequence of a queue that was deleted for good is gone.
    v_generation bigint := CASE WHEN has_sequence_privilege(p_queue.generation, 'SELECT')
        THEN pg_sequence_last_value(p_queue.generation) END;
BEGIN
    IF v_generation IS NULL OR v_generation < 0 THEN
        IF NOT slipring.read_committed() THEN
            -- An older snapshot has the queue still: 40001 where its deletion has committed.
            PERFORM FROM slipring.queue q WHERE q.queue_id = p_queue.queue_id FOR KEY SHARE;
        END IF;
        BEGIN
            -- Puts it right where the queue is there still. That is not taken back with the block, as its
            -- locks are.
            p_queue.queue_id := (slipring.queue_lock(p_queue.queue_id, false)).queue_id;
            RAISE EXCEPTION USING ERRCODE = 'SR100';
        EXCEPTION WHEN SQLSTATE 'SR100' THEN
            v_generation := CASE WHEN p_queue.queue_id IS NOT NULL
                THEN pg_sequence_last_value(p_queue.generation) END;
        END;
    END IF;
    IF v_generation IS NULL OR v_generation < 0 THEN
        PERFORM slipring.queue_gone(p_queue.queue_id, p_queue.name);
    END IF;
    RETURN v_generation;
END $$;
