-- Purpose: what a queue holds.
-- Inputs:  p_queue, p_now_ms.
-- Lock:    see queue_hold.
-- Index:   see queue_hold and queue_stats.
CREATE OR REPLACE FUNCTION slipring.store_stats(p_queue int, p_now_ms bigint)
RETURNS TABLE (ready bigint, urgent bigint, delayed bigint, leased bigint, parked bigint,
    bytes bigint, oldest_ready_ms bigint)
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
SET search_path = pg_catalog, slipring, pg_temp AS $$
DECLARE
    v_queue slipring.queue := slipring.queue_hold(p_queue);
BEGIN
    RETURN QUERY SELECT * FROM slipring.queue_stats(v_queue);
END $$;
