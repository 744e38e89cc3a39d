-- Purpose: messages of the log of a queue as they are shown; no more after 16 MiB.
-- Inputs:  p_queue, p_state; arrays with one entry for each: lane, number, state ready or leased,
--          when it was leased and until when (null when ready).
-- Lock:    none.
-- Index:   the partitions' order indexes, one step for each.
CREATE OR REPLACE FUNCTION slipring.log_show(
    p_queue slipring.queue, p_state slipring.state, p_lanes bigint[], p_ids bigint[],
    p_leased_ms bigint[], p_untils_ms bigint[])
RETURNS TABLE (rank bigint, queue int, id bigint, sent_ms bigint, priority bigint,
    attempts bigint, first_received_ms bigint, delay_ms bigint, lease_ms bigint,
    group_name text, dedup_id text, headers text, source text, body bytea, state text,
    until_ms bigint, bytes int, failures jsonb)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY EXECUTE format('
        SELECT coalesce(m.until_ms, m.lane & {{PRIORITY_MAX}}), $1, m.id, m.sent_ms,
            coalesce(m.priority, m.lane & {{PRIORITY_MAX}}),
            CASE WHEN m.until_ms IS NULL THEN 0 ELSE 1 END::bigint, m.leased_ms, 0::bigint,
            m.lease_ms, m.group_name, m.dedup_id, m.headers, NULL::text, m.body,
            CASE WHEN m.until_ms IS NULL THEN ''ready'' ELSE ''leased'' END, m.until_ms,
            m.bytes, NULL::jsonb
        FROM (SELECT m.*, u.leased_ms, u.until_ms, u.n,
                  sum(m.bytes) OVER (ORDER BY u.n) - m.bytes AS before
              FROM unnest($2, $3, $4, $5) WITH ORDINALITY
                  AS u(at_lane, at_id, leased_ms, until_ms, n)
              CROSS JOIN LATERAL %s m) m
        WHERE m.before < {{PEEK_BYTES_MAX}} ORDER BY m.n', slipring.log_row(
            slipring.live_tables(p_queue, p_state), 'u.at_lane', 'u.at_id'))
    USING p_queue.queue_id, p_lanes, p_ids, p_leased_ms, p_untils_ms;
END $$;
