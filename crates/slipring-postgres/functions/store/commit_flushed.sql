-- Purpose: makes the commit of this transaction of a server wait for its flush, also where
--          synchronous_commit is off for the role or the database (S1.3, S4.2).
-- Inputs:  none.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.commit_flushed()
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, slipring, pg_temp AS $$
BEGIN
    PERFORM slipring.commit_mode(false);
END $$;
