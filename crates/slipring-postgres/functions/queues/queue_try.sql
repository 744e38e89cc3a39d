-- Purpose: takes the lock of a queue and reads it, for work that can come again.
-- Inputs:  p_queue; p_wait_ms, how long it stands in line at most. Without waiting, nothing would ever
--          be done in the background for a queue that is always busy.
-- Lock:    the queue's lock. The caller holds no other.
-- Index:   queue_pkey.
-- Answers: the queue; null where others keep its lock, or it is gone.
CREATE OR REPLACE FUNCTION slipring.queue_try(p_queue int, p_wait_ms int DEFAULT {{LOCK_WAIT_MS}})
RETURNS slipring.queue LANGUAGE plpgsql AS $$
DECLARE
    v_queue slipring.queue;
BEGIN
    PERFORM slipring.in_turn(p_queue, p_wait_ms);
    v_queue := slipring.queue_lock(p_queue, false);
    PERFORM slipring.in_turn(p_queue, {{LOCK_WAIT_MS}});
    RETURN v_queue;
EXCEPTION WHEN lock_not_available THEN
    RETURN NULL;
END $$;
