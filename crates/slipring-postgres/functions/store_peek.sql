-- Purpose: messages as a receive would get them, then the delayed by due time, the leased by
--          deadline, the parked by rank; nothing is taken.
-- Inputs:  p_queue; p_state, only messages of this state, or null; p_limit; p_now_ms.
-- Lock:    see oldest_hold.
-- Index:   queue_pkey; see queue_peek.
CREATE OR REPLACE FUNCTION slipring.store_peek(
    p_queue int, p_state text, p_limit int, p_now_ms bigint)
RETURNS TABLE (queue int, id bigint, sent_ms bigint, priority bigint, attempts bigint,
    first_received_ms bigint, delay_ms bigint, lease_ms bigint, group_name text, dedup_id text,
    headers text, source text, body bytea, state text, until_ms bigint)
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    v_queue slipring.queue;
BEGIN
    SELECT * INTO v_queue FROM slipring.queue q WHERE q.queue_id = p_queue;
    IF v_queue.queue_id IS NULL THEN
        PERFORM slipring.fail('SR001', format('queue %s does not exist', p_queue),
            jsonb_build_object('queue', p_queue));
    END IF;
    PERFORM slipring.oldest_hold(v_queue);
    RETURN QUERY SELECT * FROM slipring.queue_peek(v_queue, p_state, p_limit);
END $$;
