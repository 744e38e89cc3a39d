-- Purpose: waits for the lock of a queue.
-- Inputs:  p_queue, which may be deleted meanwhile.
-- Lock:    the queue's, to the end of the transaction.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.queue_wait(p_queue int)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('LOCK TABLE slipring.%I IN SHARE UPDATE EXCLUSIVE MODE',
        'lock_' || p_queue);
EXCEPTION WHEN undefined_table THEN
    NULL;
END $$;
