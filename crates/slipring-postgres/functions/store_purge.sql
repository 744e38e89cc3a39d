-- Purpose: removes messages in any state that were sent at or before a moment (S14.5).
-- Inputs:  p_queue; p_limit, at most how many; p_sent_until_ms.
-- Lock:    the queue's lock.
-- Index:   see remove_old.
-- Answers: how many.
CREATE OR REPLACE FUNCTION slipring.store_purge(
    p_queue int, p_limit int, p_sent_until_ms bigint)
RETURNS bigint LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
SET search_path = pg_catalog, slipring, pg_temp AS $$
DECLARE
    v_queue slipring.queue := slipring.queue_lock(p_queue);
BEGIN
    RETURN slipring.remove_old(v_queue, p_sent_until_ms, p_limit);
END $$;
