-- Purpose: messages as a receive would get them, then the delayed by due time, the leased by
--          deadline, the parked by rank, up to about 16 MiB; nothing is taken.
-- Inputs:  p_queue; p_state, only messages of this state, or null; p_limit; p_now_ms.
-- Lock:    see queue_hold.
-- Index:   see queue_hold and queue_peek.
CREATE OR REPLACE FUNCTION slipring.store_peek(
    p_queue int, p_state text, p_limit int, p_now_ms bigint)
RETURNS TABLE (queue int, id bigint, sent_ms bigint, priority bigint, attempts bigint,
    first_received_ms bigint, delay_ms bigint, lease_ms bigint, group_name text, dedup_id text,
    headers text, source text, body bytea, state text, until_ms bigint,
    failures jsonb)
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
SET search_path = pg_catalog, slipring, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_queue slipring.queue := slipring.queue_hold(p_queue);
BEGIN
    IF p_state NOT IN ('ready', 'delayed', 'leased', 'parked') THEN
        PERFORM slipring.fail('SR007', format('the state is %L; give ready, delayed, leased or '
            'parked, or null for all', left(p_state, 64)),
            jsonb_build_object('queue', v_queue.name));
    END IF;
    RETURN QUERY SELECT * FROM slipring.queue_peek(v_queue, p_state, p_limit);
END $$;
