-- Purpose: waits for the lock of a queue; in a transaction that has another queue's lock 50 ms at most,
--          for another may wait the other way round.
-- Inputs:  p_queue, which may be deleted meanwhile; p_by_user, whether the caller is no server: then the
--          first 50 ms are limited whatever lock_timeout is.
-- Lock:    the queue's, to the end of the transaction. What the transaction has is looked at when the
--          50 ms are over: the look takes all locks of the server's lock table for a moment. Where
--          lock_timeout is 2 s at most, as it is for all that servers do, that is limit enough.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.queue_wait(p_queue int, p_by_user boolean DEFAULT false)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_limit text := current_setting('lock_timeout');
BEGIN
    IF v_limit::interval NOT BETWEEN '1 ms'
        AND (CASE WHEN p_by_user THEN interval '50 ms' ELSE '2 s' END)
    THEN
        BEGIN
            PERFORM slipring.in_turn(p_queue, 50);
            PERFORM slipring.queue_stand(p_queue);
            PERFORM set_config('lock_timeout', v_limit, true);
            RETURN;
        EXCEPTION WHEN lock_not_available THEN
            -- The limit is as before again.
            IF slipring.queue_holds_other(p_queue) THEN
                RAISE EXCEPTION USING ERRCODE = '55P03', MESSAGE = format('queue %s is in use by '
                    'another transaction, and this one has the lock of another queue', (
                        SELECT q.name FROM slipring.queue q WHERE q.queue_id = p_queue)),
                    HINT = 'Give messages of several queues back by one call, or in a transaction '
                        'of their own.';
            END IF;
        END;
    END IF;
    PERFORM slipring.queue_stand(p_queue);
END $$;
