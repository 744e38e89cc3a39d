-- Purpose: ends a pause.
-- Inputs:  the queue's name.
-- Lock:    the queue's lock, to the end of the transaction.
-- Index:   queue_name.
CREATE OR REPLACE FUNCTION slipring.resume(queue text)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp
SET jit = off AS $$
BEGIN
    PERFORM slipring.configure(queue, '{"paused": false, "paused_until": null}');
END $$;
