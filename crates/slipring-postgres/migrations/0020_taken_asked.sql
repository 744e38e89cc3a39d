-- Purpose: the first receive by SQL of a queue keeps no lock to the end of its transaction.
-- Inputs:  none.
-- Lock:    none.
-- Index:   none.

-- The generation of the journal in which a receive by SQL last asked to hand out messages of a queue without
-- its lock, of the queues of one remainder: see taken_ask. Null where none has.
DO $$
BEGIN
    FOR n IN 0..63 LOOP
        EXECUTE format('CREATE SEQUENCE slipring.taken_asked_%s MINVALUE 0 START 0', n);
    END LOOP;
END $$;
-- The same of all queues: mostly nobody has, and then none of the others is read, which takes a lock each.
CREATE SEQUENCE slipring.taken_asked MINVALUE 0 START 0;
