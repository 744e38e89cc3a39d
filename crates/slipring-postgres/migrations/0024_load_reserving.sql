-- Purpose: whoever hands out messages without a queue's lock sees that a transaction that is still open takes
--          numbers for a load.
-- Inputs:  none.
-- Lock:    none.
-- Index:   none.

-- One for the queues whose numbers are the same modulo 16; see load_show. They are logged: a prepared transaction
-- outlives a crash.
DO $$
BEGIN
    FOR n IN 0..15 LOOP
        EXECUTE format('CREATE SEQUENCE slipring.load_reserving_%s MINVALUE 0 START 0', n);
    END LOOP;
END $$;

-- Locked for a moment by who moves one of them.
CREATE VIEW slipring.load_reserving_lock AS SELECT 'load_reserving' AS lock;
