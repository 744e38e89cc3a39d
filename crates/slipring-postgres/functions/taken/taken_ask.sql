-- Purpose: lets this transaction hand out messages of a queue without its lock where the state does not allow
--          it (see taken_may): the first receive by SQL of a queue, or the first for long. It moves a
--          sequence, then waits until the transaction that has the queue's lock has ended. Every later holder
--          of the lock reads the sequence and expects such hand-outs, see state_read.
-- Inputs:  p_queue, a standard one.
-- Lock:    the queue's, which is waited for as by queue_wait and given back. The transaction has its number,
--          so that the journal does not get more than one generation further before it ends.
-- Index:   none.
-- Answers: whether this transaction may hand out messages without the lock; false where it has another
--          queue's lock, and another transaction keeps this one's.
CREATE OR REPLACE FUNCTION slipring.taken_ask(p_queue slipring.queue)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_xid CONSTANT xid8 := pg_current_xact_id();
    v_asked regclass;
    v_journal bigint := pg_sequence_last_value('slipring.journal');
BEGIN
    IF slipring.taken_may(slipring.state_read(p_queue)) THEN
        -- Hand-outs of others, who have asked, are there.
        RETURN true;
    END IF;
    -- Sequences stay where they are when the block, or the transaction, fails.
    FOREACH v_asked IN ARRAY ARRAY[slipring.taken_asked(p_queue.queue_id), 'slipring.taken_asked'] LOOP
        IF coalesce(pg_sequence_last_value(v_asked) < v_journal, true) THEN
            PERFORM setval(v_asked, v_journal);
        END IF;
    END LOOP;
    BEGIN
        PERFORM slipring.queue_wait(p_queue.queue_id, true);
        IF NOT EXISTS (SELECT FROM slipring.queue q WHERE q.queue_id = p_queue.queue_id) THEN
            PERFORM slipring.queue_gone(p_queue.queue_id, p_queue.name);
        END IF;
        -- What a block has locked is given back where it fails.
        RAISE EXCEPTION USING ERRCODE = 'SR100';
    EXCEPTION
        WHEN SQLSTATE 'SR100' THEN
            RETURN true;
        WHEN lock_not_available THEN
            IF slipring.queue_holds_other(p_queue.queue_id) THEN
                RETURN false;
            END IF;
            RAISE;
    END;
END $$;
