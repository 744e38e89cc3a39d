-- Purpose: takes the lock of a queue and reads it; what is read from now on is what is present, see
--          generations_enter.
-- Inputs:  p_queue; p_needed, whether a queue that is not there is an error (SR001).
-- Lock:    the queue's lock, to the end of the transaction. Nobody waits for one while holding
--          another: who needs several takes the first one by this and tries the others, see
--          queue_free.
-- Index:   queue_pkey.
CREATE OR REPLACE FUNCTION slipring.queue_lock(p_queue int, p_needed boolean DEFAULT true)
RETURNS slipring.queue LANGUAGE plpgsql AS $$
DECLARE
    v_queue slipring.queue;
    v_name text;
BEGIN
    IF NOT slipring.queue_free(p_queue) THEN
        -- Whoever has the lock may be deleting the queue: afterwards nothing tells its name.
        v_name := (SELECT q.name FROM slipring.queue q WHERE q.queue_id = p_queue AND p_needed);
        PERFORM slipring.queue_wait(p_queue);
    END IF;
    PERFORM slipring.generations_enter();
    SELECT * INTO v_queue FROM slipring.queue q WHERE q.queue_id = p_queue;
    IF v_queue.home_at <> v_queue.written_at THEN
        PERFORM slipring.queue_at_home(v_queue);
    ELSIF v_queue.queue_id IS NULL AND p_needed THEN
        PERFORM slipring.queue_gone(p_queue, v_name);
    ELSIF v_queue.generation_low IS NOT NULL THEN
        PERFORM slipring.place_enter(v_queue);
    ELSIF pg_sequence_last_value(v_queue.generation) < 0 THEN
        -- A deletion that has not committed has left it so. It was the oldest generation, the one after it or,
        -- after an import, the one after that, which is right for all: they are steps of the rotation.
        PERFORM setval(v_queue.generation, (slipring.state_read(v_queue)).generation_low + 2);
    END IF;
    RETURN v_queue;
END $$;
