-- Purpose: tries to take the lock of a queue: a view that nobody reads and only the owner may lock.
-- Inputs:  p_queue.
-- Lock:    the queue's, to the end of the transaction, if nobody has it.
-- Index:   none.
-- Answers: whether this transaction has it; also true where there is no such queue any more.
CREATE OR REPLACE FUNCTION slipring.queue_free(p_queue int)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('LOCK TABLE slipring.%I IN SHARE UPDATE EXCLUSIVE MODE NOWAIT',
        'lock_' || p_queue);
    RETURN true;
EXCEPTION
    WHEN lock_not_available THEN
        RETURN false;
    WHEN undefined_table THEN
        RETURN true;
END $$;
