-- Purpose: no caller can make a transaction give the number of a message twice.
-- Inputs:  none.
-- Lock:    none.
-- Index:   none.

-- A session sets one of these, by its process number modulo 64, to the last number that its transaction has
-- given. What it has set is its own value of the sequence, which no other session changes.
DO $$
BEGIN
    FOR n IN 0..63 LOOP
        EXECUTE format('CREATE SEQUENCE slipring.numbers_%s MINVALUE 0 START 0', n);
    END LOOP;
END $$;
