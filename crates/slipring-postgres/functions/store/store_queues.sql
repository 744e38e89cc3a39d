-- Purpose: all queues, by name.
-- Inputs:  none.
-- Lock:    none.
-- Index:   none; every row is read.
CREATE OR REPLACE FUNCTION slipring.store_queues()
RETURNS TABLE (queue_id int, name text, settings jsonb, created_ms bigint, modified_ms bigint)
LANGUAGE sql STABLE
SET search_path = pg_catalog, slipring, pg_temp AS $$
    SELECT q.queue_id, q.name, q.settings, q.created_ms, q.modified_ms
    FROM slipring.queue q ORDER BY q.name COLLATE "C"
$$;
