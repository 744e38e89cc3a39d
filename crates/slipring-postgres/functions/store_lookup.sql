-- Purpose: one message, wherever it is.
-- Inputs:  p_message, p_now_ms.
-- Lock:    none; one snapshot.
-- Index:   item_picture_N_newest, item_body_id; see log_find.
CREATE OR REPLACE FUNCTION slipring.store_lookup(p_message bigint, p_now_ms bigint)
RETURNS TABLE (queue int, id bigint, sent_ms bigint, priority bigint, attempts bigint,
    first_received_ms bigint, delay_ms bigint, lease_ms bigint, group_name text, dedup_id text,
    headers text, source text, body bytea, state text, until_ms bigint)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    v_queue slipring.queue;
    v_found record;
BEGIN
    RETURN QUERY SELECT i.queue_id, i.id, i.sent_ms, i.priority, i.attempts,
        i.first_received_ms, i.delay_ms, i.lease_ms, b.group_name, b.dedup_id, b.headers,
        i.source, b.body, (ARRAY['delayed', 'ready', 'leased', 'parked'])[i.state + 1],
        CASE WHEN i.state IN (0, 2) THEN i.turn END
    FROM slipring.item_now(p_message) i CROSS JOIN LATERAL slipring.item_content(i.id) b
    WHERE EXISTS (SELECT FROM slipring.queue q WHERE q.queue_id = i.queue_id);
    IF FOUND THEN
        RETURN;
    END IF;
    v_found := slipring.log_find(p_message);
    IF v_found.queue IS NULL THEN
        RETURN;
    END IF;
    SELECT * INTO v_queue FROM slipring.queue q WHERE q.queue_id = v_found.queue;
    RETURN QUERY SELECT s.queue, s.id, s.sent_ms, s.priority, s.attempts, s.first_received_ms,
        s.delay_ms, s.lease_ms, s.group_name, s.dedup_id, s.headers, s.source, s.body, s.state,
        s.until_ms
    FROM slipring.log_show(v_queue, slipring.state_read(v_queue), ARRAY[v_found.lane],
        ARRAY[p_message], ARRAY[v_found.leased_ms], ARRAY[v_found.deadline_ms]) s;
END $$;
