-- Purpose: what one receive of a FIFO queue may get, in order: of each open group the messages up
--          to the first that is delayed.
-- Inputs:  p_queue, p_limit.
-- Lock:    the caller holds the queue's lock and has refreshed the groups.
-- Index:   fifo_group_open from the mark on, fifo_group_new for entries that the mark has not seen;
--          fifo_group_name for each; item_group from the head of each group on.
CREATE OR REPLACE FUNCTION slipring.fifo_open(p_queue int, p_limit bigint)
RETURNS TABLE (id bigint, attempts bigint, bytes int, fence bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_mark slipring.mark := slipring.mark_read(p_queue, 4);
BEGIN
    RETURN QUERY SELECT m.id, m.attempts, m.bytes, m.fence
    FROM (SELECT * FROM (
            (SELECT g.name, g.head_id FROM slipring.fifo_group_newest g
             WHERE g.queue_id = p_queue AND g.head_id IS NOT NULL AND g.head_id >= v_mark.id
             ORDER BY g.head_id LIMIT p_limit)
            UNION ALL
            (SELECT n.name, n.head_id FROM slipring.spans(v_mark.unseen) r CROSS JOIN LATERAL (
                 SELECT g.name, g.head_id FROM slipring.fifo_group_newest g
                 WHERE g.queue_id = p_queue AND g.head_id IS NOT NULL AND g.entry >= r.first
                     AND g.entry < r.past AND g.head_id < v_mark.id OFFSET 0) n
             ORDER BY n.head_id LIMIT p_limit)) g
          ORDER BY g.head_id LIMIT p_limit) g
    CROSS JOIN LATERAL (
        SELECT i.id, i.attempts, i.bytes, i.fence,
            bool_and(i.state = 1) OVER (ORDER BY i.id) AS open
        FROM (SELECT i.* FROM slipring.item i
              WHERE i.queue_id = p_queue AND i.fifo_group = g.name AND i.fifo_group IS NOT NULL
                  AND i.state < 3 AND i.id >= g.head_id
              ORDER BY i.id LIMIT p_limit) i) m
    WHERE m.open
    ORDER BY m.id LIMIT p_limit;
END $$;
