-- Purpose: takes the lock of administration: queues are created and deleted, and rights given, one after the
--          other.
-- Inputs:  none.
-- Lock:    that one, to the end of the transaction. It is waited for, but not by a transaction that has a
--          queue's lock: that queue would stand as long (55P03).
-- Index:   none; see queue_holds_other.
CREATE OR REPLACE FUNCTION slipring.administration_lock()
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    BEGIN
        LOCK TABLE slipring.lock_administration IN SHARE UPDATE EXCLUSIVE MODE NOWAIT;
        RETURN;
    EXCEPTION WHEN lock_not_available THEN
        IF slipring.queue_holds_other(0) THEN
            RAISE EXCEPTION USING ERRCODE = '55P03', MESSAGE = 'another transaction is creating or '
                'deleting a queue or giving rights, and this one has the lock of a queue',
                HINT = 'Create queues and give rights in a transaction of their own.';
        END IF;
    END;
    LOCK TABLE slipring.lock_administration IN SHARE UPDATE EXCLUSIVE MODE;
END $$;
