-- Purpose: whether the lock of a queue is its row in lock_row and not a view lock_<number>: see decision 0042.
-- Inputs:  p_queue.
-- Lock:    none.
-- Index:   none. In LANGUAGE sql so that it is inlined.
-- Answers: also true where there is no such queue any more.
CREATE OR REPLACE FUNCTION slipring.queue_lock_is_row(p_queue int)
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT to_regclass('slipring.lock_' || p_queue) IS NULL
$$;
