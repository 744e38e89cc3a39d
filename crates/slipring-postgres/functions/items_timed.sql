-- Purpose: messages of all queues that are delayed, or leased, and whose time has come, in the
--          order of their times. Those of deleted queues are left out: nobody takes care of them,
--          and where they filled the limit, no mark would ever pass them.
-- Inputs:  p_mark of the state (0 or 2); p_until_ms, the last time that counts; p_limit.
-- Lock:    the caller's snapshot; whoever changes them looks again under the queue's lock.
-- Index:   item_time from the mark on; item_time_new for entries that the mark has not seen;
--          item_picture_N_newest and queue_pkey for each picture.
CREATE OR REPLACE FUNCTION slipring.items_timed(
    p_mark slipring.mark, p_until_ms bigint, p_limit bigint)
RETURNS SETOF slipring.item_picture LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY SELECT * FROM (
        (SELECT i.* FROM slipring.item i
         WHERE i.state = p_mark.kind AND i.state IN (0, 2) AND i.turn > p_mark.turn
             AND i.turn <= p_until_ms
             AND EXISTS (SELECT FROM slipring.queue q WHERE q.queue_id = i.queue_id)
         ORDER BY i.turn LIMIT p_limit)
        UNION ALL
        (SELECT n.* FROM slipring.spans(p_mark.unseen) r CROSS JOIN LATERAL (
             SELECT i.* FROM slipring.item i
             WHERE i.state = p_mark.kind AND i.state IN (0, 2) AND i.entry >= r.first
                 AND i.entry < r.past AND i.turn <= least(p_mark.turn, p_until_ms)
                 AND EXISTS (SELECT FROM slipring.queue q WHERE q.queue_id = i.queue_id)
             OFFSET 0) n
         ORDER BY n.turn LIMIT p_limit)) i
    ORDER BY i.turn LIMIT p_limit;
END $$;
