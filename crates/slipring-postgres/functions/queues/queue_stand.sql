-- Purpose: stands in line for the lock of a queue, as long as lock_timeout allows.
-- Inputs:  p_queue, which may be deleted meanwhile.
-- Lock:    the queue's, see queue_free; to the end of the transaction.
-- Index:   lock_row_pkey, store_pkey.
CREATE OR REPLACE FUNCTION slipring.queue_stand(p_queue int)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF slipring.queue_lock_is_row(p_queue) THEN
        -- Outside of the block: see queue_wait.
        PERFORM FROM slipring.lock_row l WHERE l.queue_id = p_queue AND l.kind = 0
            FOR UPDATE;
        -- What queue_holds_other looks for; it is only tried.
        PERFORM pg_try_advisory_xact_lock_shared(slipring.lock_row_class(s.receipt_key), p_queue)
        FROM slipring.store s WHERE FOUND;
        RETURN;
    END IF;
    BEGIN
        EXECUTE format('LOCK TABLE slipring.%I IN SHARE UPDATE EXCLUSIVE MODE', 'lock_' || p_queue);
    EXCEPTION WHEN undefined_table THEN
        NULL;
    END;
END $$;
