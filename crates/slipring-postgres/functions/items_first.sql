-- Purpose: the first messages of a queue that are ready and of one standing, or parked, in their
--          order (S7): from the mark on, and those before it that are newer than it.
-- Inputs:  p_mark of the queue and kind (1, 7 or 8; or 3); p_done, the cut: messages with other
--          numbers are left out; p_limit.
-- Lock:    the caller's snapshot; the queue's lock where it takes them.
-- Index:   item_order from the mark on; item_order_new for entries that the mark has not seen;
--          item_picture_N_newest for each picture.
CREATE OR REPLACE FUNCTION slipring.items_first(
    p_mark slipring.mark, p_done int8multirange, p_limit bigint)
RETURNS SETOF slipring.item_picture LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_state int := CASE WHEN p_mark.kind = 3 THEN 3 ELSE 1 END;
    v_low bigint := CASE p_mark.kind WHEN 7 THEN 4294967296 WHEN 8 THEN 8589934592 ELSE 0 END;
    v_past bigint := v_low + 4294967296;
BEGIN
    RETURN QUERY SELECT * FROM (
        (SELECT i.* FROM slipring.item i
         WHERE i.queue_id = p_mark.queue_id AND i.state = v_state
             AND (i.turn, i.id) >= (p_mark.turn, p_mark.id) AND i.turn < v_past
             AND i.id <@ p_done
         ORDER BY i.turn, i.id LIMIT p_limit)
        UNION ALL
        (SELECT n.* FROM slipring.spans(p_mark.unseen) r CROSS JOIN LATERAL (
             SELECT i.* FROM slipring.item i
             WHERE i.queue_id = p_mark.queue_id AND i.state = v_state
                 AND i.entry >= r.first AND i.entry < r.past AND i.turn >= v_low
                 AND (i.turn, i.id) < (p_mark.turn, p_mark.id) AND i.id <@ p_done
             OFFSET 0) n
         ORDER BY n.turn, n.id LIMIT p_limit)) i
    ORDER BY i.turn, i.id LIMIT p_limit;
END $$;
