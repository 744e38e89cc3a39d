-- Purpose: whether each statement of the transaction has a snapshot of its own.
-- Inputs:  none.
-- Lock:    none.
-- Index:   none. Inlined.
CREATE OR REPLACE FUNCTION slipring.read_committed()
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT current_setting('transaction_isolation') IN ('read committed', 'read uncommitted')
$$;
