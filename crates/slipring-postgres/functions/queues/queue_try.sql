-- Purpose: takes the lock of a queue and reads it, for work that can come again.
-- Inputs:  p_queue.
-- Lock:    the queue's lock, for which it waits 50 ms at most: without waiting, nothing would ever be
--          done in the background for a queue that is always busy. The caller holds no other.
-- Index:   queue_pkey.
-- Answers: the queue; null where somebody keeps its lock, or it is gone.
CREATE OR REPLACE FUNCTION slipring.queue_try(p_queue int)
RETURNS slipring.queue LANGUAGE plpgsql AS $$
BEGIN
    PERFORM slipring.in_turn(p_queue, 50);
    RETURN slipring.queue_lock(p_queue, false);
EXCEPTION WHEN lock_not_available THEN
    RETURN NULL;
END $$;
