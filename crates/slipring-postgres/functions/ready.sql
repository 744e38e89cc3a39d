-- Purpose: whether a receive of a queue would get something now.
-- Inputs:  the queue's name.
-- Lock:    none of a standard queue; that of a FIFO queue is tried.
-- Index:   queue_name; see queue_head.
CREATE OR REPLACE FUNCTION slipring.ready(queue text)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp
SET jit = off AS $$
BEGIN
    PERFORM slipring.isolation_check();
    RETURN EXISTS (SELECT FROM slipring.store_heads(
        ARRAY[(slipring.queue_named(queue)).queue_id], slipring.now_ms()));
END $$;
