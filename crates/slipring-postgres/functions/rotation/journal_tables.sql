-- Purpose: the tables of the journal, which rotate together.
-- Inputs:  none.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.journal_tables()
RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
    SELECT ARRAY['state', 'lease', 'ack', 'offer']
$$;
