-- Purpose: in a transaction with a snapshot of its own (REPEATABLE READ, SERIALIZABLE) fails with 40001 where
--          the row of a queue has been changed or deleted since, by who has committed; does nothing in any
--          other.
-- Inputs:  p_queue.
-- Lock:    the queue's row for a moment; none where another is changing it.
-- Index:   queue_pkey.
CREATE OR REPLACE FUNCTION slipring.queue_unchanged(p_queue int)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF slipring.read_committed() THEN
        RETURN;
    END IF;
    -- Who has the lock already is told of no change: it is given back with the block.
    PERFORM FROM slipring.queue q WHERE q.queue_id = p_queue FOR SHARE SKIP LOCKED;
    RAISE EXCEPTION USING ERRCODE = 'SR100';
EXCEPTION WHEN SQLSTATE 'SR100' THEN
    NULL;
END $$;
