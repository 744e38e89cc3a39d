-- Purpose: lets this transaction of a server wait 50 ms at most for any lock. A server tries again
--          after a pause in which it needs no connection, see Session.
-- Inputs:  p_what, a queue or message: the statement goes on with what is answered, so that this comes
--          first.
-- Lock:    none.
-- Index:   none.
-- Answers: p_what.
CREATE OR REPLACE FUNCTION slipring.in_turn(p_what anyelement)
RETURNS anyelement LANGUAGE plpgsql
SET search_path = pg_catalog, slipring, pg_temp AS $$
BEGIN
    PERFORM set_config('lock_timeout', '50ms', true);
    RETURN p_what;
END $$;
