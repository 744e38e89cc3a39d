-- Purpose: the leases that messages are all of, and of which no ack waits to be taken in. What a
--          lease has open may have gaps where no message is, so that their number tells.
-- Inputs:  p_queue; p_messages with p_fences, none twice.
-- Lock:    none; see ack_whole.
-- Index:   lease_newest; ack_N_once, one step in each slot.
CREATE OR REPLACE FUNCTION slipring.ack_whole_open(
    p_queue int, p_messages bigint[], p_fences bigint[])
RETURNS TABLE (fence bigint, ids int8multirange) LANGUAGE sql STABLE AS $$
    SELECT a.fence, a.ids FROM (
        SELECT u.fence, range_agg(int8range(u.message, u.message + 1)) AS ids, count(*) AS n
        FROM unnest(p_messages, p_fences) AS u(message, fence)
        GROUP BY u.fence HAVING count(*) > 1) a
    CROSS JOIN LATERAL (
        SELECT sum(l.n) AS n, sum((SELECT sum(upper(r) - lower(r))
            FROM unnest(a.ids * l.open) r)) AS named
        FROM slipring.lease_newest(p_queue, ARRAY[a.fence]) l WHERE l.n > 0) l
    WHERE a.n = l.n AND a.n = l.named AND NOT EXISTS (SELECT FROM ack d
        WHERE d.fence = a.fence AND d.queue_id = p_queue OFFSET 0)
$$;
