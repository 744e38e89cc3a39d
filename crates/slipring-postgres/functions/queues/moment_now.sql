-- Purpose: the moment of the transaction, for a column that is computed when its row is written, and
--          anew when the row is restored from a dump. It says that it is immutable, which columns
--          ask for: nothing else may use it.
-- Inputs:  p_written, the column beside it.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.moment_now(p_written timestamptz) RETURNS timestamptz
LANGUAGE sql IMMUTABLE AS 'SELECT pg_catalog.now()';
