-- Purpose: tries to take the lock of a queue without waiting: its view lock_<number>, or its row in
--          lock_row where the queue shares tables and has no view. Only the owner may lock either.
-- Inputs:  p_queue.
-- Lock:    the queue's, to the end of the transaction, if nobody has it.
-- Index:   lock_row_pkey, store_pkey.
-- Answers: whether this transaction has it; also true where there is no such queue any more.
CREATE OR REPLACE FUNCTION slipring.queue_free(p_queue int)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF slipring.queue_lock_is_row(p_queue) THEN
        -- Outside of the block: see queue_wait.
        PERFORM FROM slipring.lock_row l WHERE l.queue_id = p_queue AND l.kind = 0
            FOR UPDATE SKIP LOCKED;
        IF FOUND THEN
            PERFORM pg_try_advisory_xact_lock_shared(slipring.lock_row_class(s.receipt_key), p_queue)
            FROM slipring.store s;
            RETURN true;
        END IF;
        RETURN NOT EXISTS (SELECT FROM slipring.lock_row l WHERE l.queue_id = p_queue AND l.kind = 0);
    END IF;
    BEGIN
        EXECUTE format('LOCK TABLE slipring.%I IN SHARE UPDATE EXCLUSIVE MODE NOWAIT',
            'lock_' || p_queue);
        RETURN true;
    EXCEPTION
        WHEN lock_not_available THEN
            RETURN false;
        WHEN undefined_table THEN
            RETURN true;
    END;
END $$;
