-- Purpose: for how many generations of the journal after the last one receives by SQL may hand out
--          messages of a queue without its lock. Two generations later it ends: whoever has read
--          that it may be done has its number by then, and is waited for by the rotation.
-- Inputs:  none.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.taken_generations()
RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT 100::bigint
$$;
