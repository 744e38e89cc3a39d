-- Purpose: takes away what the last program's functions are made of, so that those of this one may
--   have other arguments and results, and none is left over. The functions for users stay, to be
--   replaced: others may have been granted them, or have views and defaults that call them
-- Inputs: none
-- Lock: the catalogue's
-- Index: none
DO $$
DECLARE
    v_function regprocedure;
BEGIN
    FOR v_function IN SELECT p.oid FROM pg_proc p
        WHERE p.pronamespace = 'slipring'::regnamespace AND NOT p.prosecdef LOOP
        EXECUTE format('DROP FUNCTION %s', v_function);
    END LOOP;
END $$
