-- Purpose: whether an error may come from a row that is not as the store writes rows. Others are of
--          the statement, of other transactions, or of the server, and looking at rows does not help.
-- Inputs:  p_state, the SQLSTATE.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.row_fault(p_state text)
RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT left(p_state, 2) = ANY (ARRAY['20', '21', '22', '23', '54', 'P0', 'XX'])
$$;
