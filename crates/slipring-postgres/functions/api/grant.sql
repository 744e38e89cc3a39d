-- Purpose: gives a role rights in this database, in all queues or in one.
-- Inputs:  kind: producer, consumer or admin, who may do what the others may, and administer; the name
--          of the role; the queue's name, or null for all.
-- Lock:    see right_change.
-- Index:   see right_change.
CREATE OR REPLACE FUNCTION slipring.grant(kind text, role text, queue text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp AS $$
BEGIN
    PERFORM slipring.right_change($1, $2, $3, true);
END $$;
