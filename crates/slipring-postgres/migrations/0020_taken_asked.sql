-- Purpose: the first receive by SQL of a queue keeps no lock to the end of its transaction.
-- Inputs:  none.
-- Lock:    none.
-- Index:   none.

-- The generation of the journal in which taken_ask was last called for a queue, by the queue's number modulo
-- 64. Null where it never was.
DO $$
BEGIN
    FOR n IN 0..63 LOOP
        EXECUTE format('CREATE SEQUENCE slipring.taken_asked_%s MINVALUE 0 START 0', n);
    END LOOP;
END $$;
-- The same for all queues. While it is old the other sequences are not read; each read takes a lock.
CREATE SEQUENCE slipring.taken_asked MINVALUE 0 START 0;
