-- Purpose: refuses a statement of a server that is not READ COMMITTED (25001): it would read under a queue's lock what
--          was there before the lock. The role, the database or a pooler's other clients may have set that
--          since the server looked.
-- Inputs:  none.
-- Lock:    none.
-- Index:   none.
-- Answers: true.
CREATE OR REPLACE FUNCTION slipring.isolation_kept()
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF NOT slipring.read_committed() THEN
        RAISE EXCEPTION USING ERRCODE = '25001', MESSAGE = format('the transaction is %s, not READ COMMITTED',
            upper(current_setting('transaction_isolation')));
    END IF;
    RETURN true;
END $$;
