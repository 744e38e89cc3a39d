-- Purpose: which cluster this is; null where the server does not say.
-- Inputs:  none.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.store_system_identifier() RETURNS bigint
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, slipring, pg_temp
AS $$
BEGIN
    RETURN (SELECT system_identifier FROM pg_control_system());
EXCEPTION
    WHEN insufficient_privilege OR undefined_function THEN
        RETURN NULL;
END
$$;
