-- Purpose: the parts of an open load from a number on.
-- Inputs:  p_load, p_from; p_limit, at most how many.
-- Lock:    none.
-- Index:   load_pkey, load_part_pkey.
CREATE OR REPLACE FUNCTION slipring.store_load_parts(
    p_load bigint, p_from bigint, p_limit bigint)
RETURNS TABLE (part bigint, messages bigint, checksum bigint) LANGUAGE plpgsql
SET search_path = pg_catalog, slipring, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM slipring.load_open(p_load);
    RETURN QUERY SELECT p.part, p.messages::bigint, p.checksum FROM slipring.load_part p
    WHERE p.load_id = p_load AND p.part >= p_from ORDER BY p.part LIMIT p_limit;
END $$;
