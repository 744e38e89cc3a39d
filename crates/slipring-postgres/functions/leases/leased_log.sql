-- Purpose: messages of the log in their first hands, by deadline, without those that users'
--          transactions have acked.
-- Inputs:  p_queue, p_state, p_limit.
-- Lock:    none.
-- Index:   see lease_open, lease_members and acks_in.
CREATE OR REPLACE FUNCTION slipring.leased_log(
    p_queue slipring.queue, p_state slipring.state, p_limit bigint)
RETURNS TABLE (lane bigint, id bigint, leased_ms bigint, deadline_ms bigint)
LANGUAGE sql STABLE AS $$
    WITH leases AS MATERIALIZED (SELECT * FROM slipring.lease_open(p_queue.queue_id)),
    acked AS MATERIALIZED (
        SELECT l.fence, l.part, count(DISTINCT a.message_id) AS n,
            range_agg(int8range(a.message_id, a.message_id + 1)) AS ids
        FROM slipring.acks_in(p_queue.queue_id, p_state.acks) a
        JOIN leases l ON l.fence = a.fence AND a.message_id <@ l.open
        GROUP BY l.fence, l.part)
    SELECT l.lane, m.id, l.leased_ms, l.deadline_ms
    FROM (SELECT l.lane, l.leased_ms, l.deadline_ms, l.fence, ROW(l.slot, l.queue_id, l.fence,
              l.part, l.seq, l.lane, l.deadline_ms, l.leased_ms, l.holder, l.n, l.bytes,
              l.bytes_each, l.open - coalesce(a.ids, '{}'))::slipring.lease AS lease
          FROM leases l LEFT JOIN acked a ON a.fence = l.fence AND a.part = l.part
          WHERE l.n > coalesce(a.n, 0)
          ORDER BY l.deadline_ms, l.fence LIMIT p_limit) l
    CROSS JOIN LATERAL slipring.lease_members(slipring.live_tables(p_queue, p_state),
        l.lease, p_limit) m
    ORDER BY l.deadline_ms, m.id LIMIT p_limit
$$;
