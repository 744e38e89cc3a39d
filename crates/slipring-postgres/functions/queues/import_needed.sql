-- Purpose: raises the error of a database that was restored and not imported (SR010).
-- Inputs:  p_facts, for the error.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.import_needed(p_facts jsonb)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM slipring.fail('SR010', 'the database was restored from a dump: stop all servers on '
        'it and run `slipring import`', p_facts);
END $$;
