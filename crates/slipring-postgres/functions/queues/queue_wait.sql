-- Purpose: waits for the lock of a queue; in a transaction that has another queue's lock 50 ms at most,
--          for another may wait the other way round.
-- Inputs:  p_queue, which may be deleted meanwhile; p_by_user, whether the caller is no server: then the
--          first 50 ms are limited whatever lock_timeout is.
-- Lock:    the queue's, to the end of the transaction. What the transaction has is looked at when the
--          50 ms are over: the look takes all locks of the server's lock table for a moment. Where
--          lock_timeout is 2 s at most, as it is for all that servers do, that is limit enough. A lock that
--          is a row is never kept out of a block that has ended: who waits for it would wait for all of
--          this transaction from then on, also when a savepoint gives it back, and have a place in the
--          line in which this transaction may stand again. It is given back and taken at once.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.queue_wait(p_queue int, p_by_user boolean DEFAULT false)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_limit text := current_setting('lock_timeout');
BEGIN
    IF v_limit::interval NOT BETWEEN '1 ms'
        AND (CASE WHEN p_by_user THEN interval '{{LOCK_WAIT_MS}} ms' ELSE '{{QUEUE_WAIT_MAX_MS}} ms' END)
    THEN
        FOR v_try IN 1..20 LOOP
            BEGIN
                PERFORM slipring.in_turn(p_queue, {{LOCK_WAIT_MS}});
                PERFORM slipring.queue_stand(p_queue);
                IF slipring.queue_lock_is_row(p_queue) THEN
                    RAISE EXCEPTION USING ERRCODE = 'SR100';
                END IF;
                PERFORM set_config('lock_timeout', v_limit, true);
                RETURN;
            EXCEPTION
                WHEN SQLSTATE 'SR100' THEN
                    -- The limit is as before again.
                    IF slipring.queue_free(p_queue) THEN
                        RETURN;
                    END IF;
                WHEN lock_not_available THEN
                    EXIT;
            END;
        END LOOP;
        IF slipring.queue_holds_other(p_queue) THEN
            RAISE EXCEPTION USING ERRCODE = '55P03', MESSAGE = format('queue %s is in use by '
                'another transaction, and this one has the lock of another queue', (
                    SELECT q.name FROM slipring.queue q WHERE q.queue_id = p_queue)),
                DETAIL = jsonb_build_object('queue', (
                    SELECT q.name FROM slipring.queue q WHERE q.queue_id = p_queue))::text,
                HINT = 'Try the transaction again, or call this in a transaction of its own; give '
                    'messages of several queues back by one call.';
        END IF;
    END IF;
    PERFORM slipring.queue_stand(p_queue);
END $$;
