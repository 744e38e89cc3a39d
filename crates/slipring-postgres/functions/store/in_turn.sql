-- Purpose: lets this transaction of a server, which has to be READ COMMITTED, wait so long at most for any lock. A server tries again
--          after a pause in which it needs no connection, see Session.
-- Inputs:  p_what, an argument of the function that follows: passed through, so that this runs first;
--          p_wait_ms.
-- Lock:    none.
-- Index:   none.
-- Answers: p_what.
CREATE OR REPLACE FUNCTION slipring.in_turn(p_what anyelement, p_wait_ms int)
RETURNS anyelement LANGUAGE sql AS $$
    SELECT CASE WHEN slipring.isolation_kept() AND pg_catalog.set_config('lock_timeout', p_wait_ms::text, true) IS NOT NULL
        THEN p_what END
$$;
