-- Purpose: refuses verbs that read under a queue's lock in a transaction whose snapshot may be
--          older than the lock.
-- Inputs:  none.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.isolation_check()
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF NOT slipring.read_committed() THEN
        PERFORM slipring.fail('SR007', format('the transaction is %s; call this in a READ '
            'COMMITTED transaction of its own', upper(current_setting('transaction_isolation'))),
            '{}');
    END IF;
END $$;
