-- Purpose: messages of a queue whose time has come, the earliest first: delayed ones that are due,
--          or leases that lapse. From the mark on, and those before it that are newer than it.
-- Inputs:  p_mark of the queue and kind 0 (delayed) or 2 (leased); p_until_ms; p_limit.
-- Lock:    the caller holds the queue's lock.
-- Index:   item_order from the mark on; item_order_new for entries that the mark has not seen;
--          item_picture_N_newest for each picture.
CREATE OR REPLACE FUNCTION slipring.items_timed(
    p_mark slipring.mark, p_until_ms bigint, p_limit bigint)
RETURNS SETOF slipring.item_picture LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY SELECT * FROM (
        (SELECT i.* FROM item i
         WHERE i.queue_id * 8::bigint + i.state = p_mark.queue_id * 8::bigint + p_mark.kind
             AND i.state + 0 < 4
             AND (i.turn, i.id) > (p_mark.turn, p_mark.id) AND i.turn <= p_until_ms
         ORDER BY i.turn, i.id LIMIT p_limit)
        UNION ALL
        (SELECT n.* FROM slipring.spans(p_mark.unseen) r CROSS JOIN LATERAL (
             SELECT i.* FROM item i
             WHERE i.queue_id * {{STATE_SLOTS}}::bigint + i.state
                     = p_mark.queue_id * {{STATE_SLOTS}}::bigint + p_mark.kind
                 AND i.state + 1 < 5
                 AND i.entry >= r.first AND i.entry < r.past AND i.turn <= p_until_ms
                 AND (i.turn, i.id) <= (p_mark.turn, p_mark.id)
             OFFSET 0) n
         ORDER BY n.turn, n.id LIMIT p_limit)) i
    ORDER BY i.turn, i.id LIMIT p_limit;
END $$;
