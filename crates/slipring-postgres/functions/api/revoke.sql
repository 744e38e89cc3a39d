-- Purpose: takes from a role what slipring.grant gave it, or what its name has given it: also the
--          cluster-wide roles may be kept out of this database.
-- Inputs:  as grant; a right in all queues and one in a queue are two.
-- Lock:    see right_change.
-- Index:   see right_change.
CREATE OR REPLACE FUNCTION slipring.revoke(kind text, role text, queue text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp AS $$
BEGIN
    PERFORM slipring.right_change($1, $2, $3, false);
END $$;
