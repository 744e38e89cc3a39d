-- Purpose: messages of the log in their first hands, by deadline.
-- Inputs:  p_queue, p_state, p_limit.
-- Lock:    none.
-- Index:   see lease_open and lease_members.
CREATE OR REPLACE FUNCTION slipring.leased_log(
    p_queue slipring.queue, p_state slipring.state, p_limit bigint)
RETURNS TABLE (lane bigint, id bigint, leased_ms bigint, deadline_ms bigint)
LANGUAGE sql STABLE AS $$
    SELECT l.lane, m.id, l.leased_ms, l.deadline_ms
    FROM (SELECT l AS lease, l.* FROM slipring.lease_open(p_queue.queue_id) l
          ORDER BY l.deadline_ms, l.fence LIMIT p_limit) l
    CROSS JOIN LATERAL slipring.lease_members(slipring.live_tables(p_queue, p_state),
        l.lease, p_limit) m
    ORDER BY l.deadline_ms, m.id LIMIT p_limit
$$;
