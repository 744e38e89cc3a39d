-- Purpose: what a queue holds.
-- Inputs:  the queue's name.
-- Lock:    none; one snapshot.
-- Index:   see store_stats.
CREATE OR REPLACE FUNCTION slipring.stats(queue text)
RETURNS TABLE (ready bigint, urgent bigint, delayed bigint, leased bigint, parked bigint,
    bytes bigint, oldest_ready_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp
SET jit = off AS $$
    SELECT s.ready, s.urgent, s.delayed, s.leased, s.parked, s.bytes,
        to_timestamp(s.oldest_ready_ms / 1000.0)
    FROM slipring.store_stats((slipring.queue_named($1, 'admin')).queue_id, slipring.now_ms()) s
$$;
