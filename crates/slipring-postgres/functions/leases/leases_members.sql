-- Purpose: the messages of several leases of the log that are in given tables.
-- Inputs:  p_from, what stands in FROM, see live_tables; p_leases; p_limit.
-- Lock:    the caller holds the queue's lock.
-- Index:   the partitions' order indexes, a range for each run of ids, until there are p_limit.
CREATE OR REPLACE FUNCTION slipring.leases_members(
    p_from text, p_leases slipring.lease[], p_limit bigint)
RETURNS TABLE (id bigint, lane bigint, fence bigint, deadline_ms bigint, leased_ms bigint,
    holder bigint)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY EXECUTE format('SELECT m.id, l.lane, l.fence, l.deadline_ms, l.leased_ms, l.holder
        FROM unnest($1) l CROSS JOIN LATERAL unnest(l.open) r
        CROSS JOIN LATERAL (SELECT id FROM %s m LIMIT $2) m LIMIT $2',
        slipring.log_rows(p_from, 'l.lane', 'lower(r)', 'upper(r)'))
    USING p_leases, p_limit;
END $$;
