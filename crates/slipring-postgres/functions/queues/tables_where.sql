-- Purpose: has the tables that are made from now on in the tablespace of the store's own. The caller gives
--          default_tablespace back at its end, see queue_tables.
-- Inputs:  none.
-- Lock:    none.
-- Index:   none; a look into the catalogue.
CREATE OR REPLACE FUNCTION slipring.tables_where()
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('default_tablespace', coalesce((
        SELECT t.spcname::text FROM pg_class c JOIN pg_tablespace t ON t.oid = c.reltablespace
        WHERE c.oid = 'slipring.message'::regclass), ''), true);
END $$;
