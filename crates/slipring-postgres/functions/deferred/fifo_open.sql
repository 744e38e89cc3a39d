-- Purpose: what one receive of a FIFO queue may get (S7.7): of each of the first open groups of the
--          line the messages up to the first that is leased or delayed.
-- Inputs:  p_queue; p_groups, at most how many groups; p_limit, at most how many messages of each;
--          p_before, up to where messages have been brought into their groups: what was sent
--          later, with a delay or by another queue, may have others of its group before it.
-- Lock:    the caller holds the queue's lock and has refreshed the groups.
-- Index:   fifo_group_line from the mark on, fifo_group_new for entries that the mark has not seen;
--          fifo_group_name for each; item_group from the first message of each group on.
CREATE OR REPLACE FUNCTION slipring.fifo_open(
    p_queue int, p_groups bigint, p_limit bigint, p_before bigint)
RETURNS TABLE (turn bigint, name text, id bigint, attempts bigint, bytes int, fence bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_mark slipring.mark := slipring.mark_read(p_queue, 4);
BEGIN
    RETURN QUERY SELECT g.turn, g.name, m.id, m.attempts, m.bytes, m.fence
    FROM (SELECT * FROM (
            (SELECT g.name, g.low_id, g.turn FROM fifo_group_newest g
             WHERE g.queue_id * 2::bigint = p_queue * 2::bigint AND g.turn + 0 IS NOT NULL
                 AND g.turn >= v_mark.turn
                 AND g.low_id < p_before
             ORDER BY g.turn LIMIT p_groups)
            UNION ALL
            (SELECT n.name, n.low_id, n.turn FROM slipring.spans(v_mark.unseen) r
             CROSS JOIN LATERAL (
                 SELECT g.name, g.low_id, g.turn FROM fifo_group_newest g
                 WHERE g.queue_id * 4::bigint = p_queue * 4::bigint
                     AND g.turn + 1 IS NOT NULL AND g.entry >= r.first AND g.entry < r.past
                     AND g.turn < v_mark.turn AND g.low_id < p_before
                 OFFSET 0) n
             ORDER BY n.turn LIMIT p_groups)) g
          ORDER BY g.turn, g.name LIMIT p_groups) g
    CROSS JOIN LATERAL (
        SELECT i.id, i.attempts, i.bytes, i.fence,
            bool_and(i.state = 1 AND i.id < p_before) OVER (ORDER BY i.id) AS open
        FROM (SELECT i.* FROM item i
              WHERE i.queue_id = p_queue AND i.fifo_group = g.name AND i.fifo_group IS NOT NULL
                  AND i.state < 3 AND i.id >= g.low_id
              ORDER BY i.id LIMIT p_limit) i) m
    WHERE m.open
    ORDER BY g.turn, g.name, m.id;
END $$;
