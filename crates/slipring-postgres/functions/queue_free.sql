-- Purpose: tries to take the lock of a queue.
-- Inputs:  p_queue.
-- Lock:    the queue's, to the end of the transaction, if nobody has it.
-- Index:   none.
-- Answers: whether this transaction has it.
CREATE OR REPLACE FUNCTION slipring.queue_free(p_queue int)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN pg_try_advisory_xact_lock(1397511505, p_queue);
END $$;
