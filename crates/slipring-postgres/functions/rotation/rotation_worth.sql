-- Purpose: whether tables have enough in them to be left for their age: those of an idle store are not emptied
--          again and again. Of the journal, which has a state of each queue always, journal_grew says it.
-- Inputs:  p_bytes that they have; p_bytes_min as store_rotate.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.rotation_worth(p_bytes bigint, p_bytes_min bigint)
RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT p_bytes >= least(p_bytes_min, {{GENERATION_BYTES_AGED}})
$$;
