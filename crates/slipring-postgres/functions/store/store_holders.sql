-- Purpose: the queues with leases that end with a process.
-- Inputs:  p_holder, the process.
-- Lock:    none.
-- Index:   lease_holder, item_holder.
CREATE OR REPLACE FUNCTION slipring.store_holders(p_holder bigint)
RETURNS TABLE (queue int) LANGUAGE sql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET search_path = pg_catalog, slipring, pg_temp AS $$
    SELECT l.queue_id FROM lease l WHERE l.holder = p_holder
    UNION
    SELECT i.queue_id FROM item i WHERE i.holder = p_holder AND i.state = 2
    ORDER BY 1
$$;
