-- Purpose: one message with pictures as it is shown, unless a user's transaction has acked it.
-- Inputs:  p_message.
-- Lock:    none; one snapshot.
-- Index:   item_picture_N_newest, item_body_id; see acked.
CREATE OR REPLACE FUNCTION slipring.item_show(p_message bigint)
RETURNS TABLE (queue int, id bigint, sent_ms bigint, priority bigint, attempts bigint,
    first_received_ms bigint, delay_ms bigint, lease_ms bigint, group_name text, dedup_id text,
    headers text, source text, body bytea, state text, until_ms bigint,
    failures jsonb)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT i.queue_id, i.id, i.sent_ms, i.priority, i.attempts,
        i.first_received_ms, i.delay_ms, i.lease_ms, b.group_name, b.dedup_id, b.headers,
        slipring.source_text(i.source, i.earlier), b.body,
        (ARRAY['delayed', 'ready', 'leased', 'parked'])[i.state + 1],
        CASE WHEN i.state IN (0, 2) THEN i.turn END, i.failures
    FROM slipring.item_now(p_message) i CROSS JOIN LATERAL slipring.item_content(i.id) b
    WHERE EXISTS (SELECT FROM slipring.queue q WHERE q.queue_id = i.queue_id)
        AND NOT (i.state = 2 AND slipring.acked(i.id, i.fence));
END $$;
