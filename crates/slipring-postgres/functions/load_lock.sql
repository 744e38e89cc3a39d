-- Purpose: takes the lock of a load for as long as the transaction lasts: shared by those who
--          append, alone for who publishes or abandons. It comes before the queue's.
-- Inputs:  p_load; p_alone.
-- Lock:    the load's advisory lock; who wants it alone waits for the transactions that append.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.load_lock(p_load bigint, p_alone boolean)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF p_load NOT BETWEEN 1 AND 2147483647 THEN
        -- A number that no load has.
        PERFORM slipring.load_open(p_load);
    ELSIF p_alone THEN
        PERFORM pg_advisory_xact_lock(1397511508, p_load::int);
    ELSE
        PERFORM pg_advisory_xact_lock_shared(1397511508, p_load::int);
    END IF;
END $$;
