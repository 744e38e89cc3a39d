-- Purpose: messages of the log, out of their packs where they are in one.
-- Inputs:  p_from, the live tables; p_lanes with p_ids.
-- Lock:    as live_tables.
-- Index:   the partitions' order indexes, one step for each.
-- Answers: those that are there, n being the place in p_ids.
CREATE OR REPLACE FUNCTION slipring.log_messages(p_from text, p_lanes bigint[], p_ids bigint[])
RETURNS TABLE (n bigint, id bigint, lane bigint, sent_ms bigint, bytes int, priority bigint,
    lease_ms bigint, group_name text, dedup_id text, headers text, body bytea)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY EXECUTE format('SELECT u.n, m.id, m.lane, m.sent_ms, m.bytes, m.priority,
            m.lease_ms, m.group_name, m.dedup_id, m.headers, m.body
        FROM unnest($1, $2) WITH ORDINALITY AS u(lane, id, n) CROSS JOIN LATERAL %s m',
        slipring.log_row(p_from, 'u.lane', 'u.id'))
    USING p_lanes, p_ids;
END $$;
