-- Purpose: takes the lock of a load for as long as the transaction lasts: shared by those who
--          append, alone for who publishes or abandons. It comes before the queue's.
-- Inputs:  p_load, for which the caller looks afterwards; p_alone.
-- Lock:    the load's row, if it is there; who wants it alone waits for the transactions that
--          append.
-- Index:   load_pkey.
CREATE OR REPLACE FUNCTION slipring.load_lock(p_load bigint, p_alone boolean)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF p_alone THEN
        PERFORM FROM slipring.load l WHERE l.load_id = p_load FOR UPDATE;
    ELSE
        PERFORM FROM slipring.load l WHERE l.load_id = p_load FOR KEY SHARE;
    END IF;
END $$;
