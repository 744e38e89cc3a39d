-- Purpose: a transaction that gives numbers after another write writes no WAL for that.
-- Inputs:  none.
-- Lock:    each of the sequences, exclusively, until the migration ends.
-- Index:   none.

-- What counts is the value that a session has set itself, in its own memory: the sequence's may be lost in a
-- crash, with all sessions.
DO $$
BEGIN
    FOR n IN 0..63 LOOP
        EXECUTE format('ALTER SEQUENCE slipring.numbers_%s SET UNLOGGED', n);
    END LOOP;
END $$;
