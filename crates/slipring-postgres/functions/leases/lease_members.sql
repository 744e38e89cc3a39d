-- Purpose: the messages that a lease of the log still holds.
-- Inputs:  p_from, the live tables; p_lease; p_limit.
-- Lock:    the caller holds the queue's lock where it will write.
-- Index:   the partitions' order indexes, a range for each run of ids.
CREATE OR REPLACE FUNCTION slipring.lease_members(
    p_from text, p_lease slipring.lease, p_limit bigint)
RETURNS TABLE (id bigint, bytes int, sent_ms bigint)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY EXECUTE format('SELECT m.id, m.bytes, m.sent_ms FROM unnest($1) r
        CROSS JOIN LATERAL (SELECT id, bytes, sent_ms FROM %s m LIMIT $3) m
        ORDER BY m.id LIMIT $3', slipring.log_rows(p_from, '$2', 'lower(r)', 'upper(r)'))
    USING p_lease.open, p_lease.lane, p_limit;
END $$;
