-- Purpose: what a queue holds.
-- Inputs:  p_queue, p_now_ms.
-- Lock:    see oldest_hold.
-- Index:   queue_pkey; see queue_stats.
CREATE OR REPLACE FUNCTION slipring.store_stats(p_queue int, p_now_ms bigint)
RETURNS TABLE (ready bigint, urgent bigint, delayed bigint, leased bigint, parked bigint,
    bytes bigint, oldest_ready_ms bigint)
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_queue slipring.queue;
BEGIN
    SELECT * INTO v_queue FROM slipring.queue q WHERE q.queue_id = p_queue;
    IF v_queue.queue_id IS NULL THEN
        PERFORM slipring.fail('SR001', format('queue %s does not exist', p_queue),
            jsonb_build_object('queue', p_queue));
    END IF;
    PERFORM slipring.oldest_hold(v_queue);
    RETURN QUERY SELECT * FROM slipring.queue_stats(v_queue);
END $$;
