-- Purpose: the dead-letter queue of a queue, if it has one that is there and is not itself.
-- Inputs:  p_queue.
-- Lock:    the target's row against deletion, to the end of the transaction; not the target's
--          queue lock: rows are added to it as a sender adds them.
-- Index:   queue_name.
CREATE OR REPLACE FUNCTION slipring.dead_letter_queue(p_queue slipring.queue)
RETURNS slipring.queue LANGUAGE plpgsql AS $$
DECLARE
    v_target slipring.queue;
BEGIN
    IF p_queue.dead_letter IS NOT NULL AND p_queue.dead_letter <> p_queue.name THEN
        SELECT * INTO v_target FROM slipring.queue q WHERE q.name = p_queue.dead_letter
        FOR KEY SHARE;
    END IF;
    RETURN v_target;
END $$;
