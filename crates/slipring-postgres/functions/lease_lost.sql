-- Purpose: the text of the error for a receipt that no longer holds its message.
-- Inputs:  p_late, whether it is the newest one whose deadline has passed.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.lease_lost(p_late boolean)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT 'the receipt no longer holds the message: '
        || CASE WHEN p_late THEN 'its deadline has passed' ELSE 'another hand-out is newer' END
$$;
