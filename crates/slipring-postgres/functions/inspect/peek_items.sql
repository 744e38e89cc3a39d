-- Purpose: messages with pictures of one state in their order, as they are shown; without those
--          that users' transactions have acked, and no more after 16 MiB.
-- Inputs:  p_queue, p_state, p_limit.
-- Lock:    none.
-- Index:   see items_first and acked; item_body_id.
CREATE OR REPLACE FUNCTION slipring.peek_items(p_queue int, p_state int, p_limit bigint)
RETURNS TABLE (rank bigint, queue int, id bigint, sent_ms bigint, priority bigint,
    attempts bigint, first_received_ms bigint, delay_ms bigint, lease_ms bigint,
    group_name text, dedup_id text, headers text, source text, body bytea, state text,
    until_ms bigint, bytes int, failures jsonb)
LANGUAGE sql STABLE AS $$
    SELECT i.rank, i.queue_id, i.id, i.sent_ms, i.priority, i.attempts, i.first_received_ms,
        i.delay_ms, i.lease_ms, b.group_name, b.dedup_id, b.headers,
        slipring.source_text(i.source, i.earlier), b.body,
        (ARRAY['delayed', 'ready', 'leased', 'parked'])[i.state + 1],
        CASE WHEN i.state IN (0, 2) THEN i.turn END,
        i.bytes + coalesce(octet_length(i.failures::text), 0), i.failures
    FROM (SELECT i.*, sum(i.bytes) OVER (ORDER BY i.rank, i.id) - i.bytes AS before
          FROM (SELECT i.*, i.turn - greatest(slipring.mark_low(k), 0) AS rank
                FROM unnest(CASE WHEN p_state = 1 THEN ARRAY[1, 7, 8] ELSE ARRAY[p_state] END) k
                CROSS JOIN LATERAL slipring.items_first(slipring.mark_read(p_queue, k),
                    '{[0,)}', p_limit, p_state <> 2) i
                ORDER BY rank, i.id LIMIT p_limit) i) i
    CROSS JOIN LATERAL slipring.item_content(i.id) b
    WHERE i.before < {{PEEK_BYTES_MAX}}
$$;
