-- Purpose: one message, wherever it is.
-- Inputs:  p_message, p_now_ms.
-- Lock:    none.
-- Index:   see item_show and log_find.
CREATE OR REPLACE FUNCTION slipring.store_lookup(p_message bigint, p_now_ms bigint)
RETURNS TABLE (queue int, id bigint, sent_ms bigint, priority bigint, attempts bigint,
    first_received_ms bigint, delay_ms bigint, lease_ms bigint, group_name text, dedup_id text,
    headers text, source text, body bytea, state text, until_ms bigint,
    failures jsonb)
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
SET search_path = pg_catalog, slipring, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_queue slipring.queue;
    v_found record;
BEGIN
    RETURN QUERY SELECT * FROM slipring.item_show(p_message);
    IF FOUND THEN
        RETURN;
    END IF;
    v_found := slipring.log_find(p_message);
    IF v_found.queue IS NOT NULL THEN
        SELECT * INTO v_queue FROM slipring.queue q WHERE q.queue_id = v_found.queue;
        RETURN QUERY SELECT s.queue, s.id, s.sent_ms, s.priority, s.attempts,
            s.first_received_ms, s.delay_ms, s.lease_ms, s.group_name, s.dedup_id, s.headers,
            s.source, s.body, s.state, s.until_ms, s.failures
        FROM slipring.log_show(v_queue, slipring.state_read(v_queue), ARRAY[v_found.lane],
            ARRAY[p_message], ARRAY[v_found.leased_ms], ARRAY[v_found.deadline_ms]) s;
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;
    -- Who is not found in the log may have been moved to the shelf since the first look.
    RETURN QUERY SELECT * FROM slipring.item_show(p_message);
END $$;
