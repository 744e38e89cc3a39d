-- Purpose: what one receive of a FIFO queue may get, in order: of each open group the messages up
--          to the first that is delayed.
-- Inputs:  p_queue, p_limit.
-- Lock:    the caller holds the queue's lock and has refreshed the groups.
-- Index:   fifo_group_open, item_group.
CREATE OR REPLACE FUNCTION slipring.fifo_open(p_queue int, p_limit bigint)
RETURNS TABLE (id bigint, attempts bigint, bytes int, fence bigint)
LANGUAGE sql STABLE AS $$
    SELECT m.id, m.attempts, m.bytes, m.fence
    FROM (SELECT g.name, g.head_id FROM slipring.fifo_group g
          WHERE g.queue_id = p_queue AND g.head_id IS NOT NULL
          ORDER BY g.head_id LIMIT p_limit) g
    CROSS JOIN LATERAL (
        SELECT i.id, i.attempts, i.bytes, i.fence,
            bool_and(i.state = 1) OVER (ORDER BY i.id) AS open
        FROM (SELECT i.* FROM slipring.item i
              WHERE i.queue_id = p_queue AND i.fifo_group = g.name AND i.fifo_group IS NOT NULL
                  AND i.state <> 3 AND i.id >= g.head_id
              ORDER BY i.id LIMIT p_limit) i) m
    WHERE m.open
    ORDER BY m.id LIMIT p_limit
$$;
