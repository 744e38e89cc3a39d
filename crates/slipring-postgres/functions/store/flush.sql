-- Purpose: a transaction whose commit waits until all that was committed before it is as durable as
--          a queue that is not relaxed promises: on disk, and with the standbys that
--          synchronous_commit asks for.
-- Inputs:  none.
-- Lock:    none.
-- Index:   none.
-- Answers: which start of the server this is, null when nobody knows yet; see commit_defer.
CREATE OR REPLACE FUNCTION slipring.flush()
RETURNS text LANGUAGE plpgsql
SET search_path = pg_catalog, slipring, pg_temp AS $$
BEGIN
    -- A transaction that has written nothing would not wait, whatever numbers it took.
    PERFORM slipring.commit_mode(false), pg_logical_emit_message(true, 'slipring', '');
    RETURN (SELECT i.token FROM slipring.incarnation i);
END $$;
