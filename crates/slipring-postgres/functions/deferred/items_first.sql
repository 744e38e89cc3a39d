-- Purpose: the first messages with pictures of a queue of one state, in their order (S7), ready ones
--          of one standing: from the mark on, and those before it that are newer than it.
-- Inputs:  p_mark of the queue and kind (the state, or 7 and 8, see mark_read); p_done, the cut:
--          messages with other numbers are left out; p_limit; p_acked: also those that users'
--          transactions have acked.
-- Lock:    the caller's snapshot; the queue's lock where it takes them.
-- Index:   item_order from the mark on; item_order_new for entries that the mark has not seen;
--          item_picture_N_newest for each picture.
CREATE OR REPLACE FUNCTION slipring.items_first(
    p_mark slipring.mark, p_done int8multirange, p_limit bigint, p_acked boolean DEFAULT true)
RETURNS SETOF slipring.item_picture LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_state int := CASE WHEN p_mark.kind IN (7, 8) THEN 1 ELSE p_mark.kind END;
    v_low bigint := slipring.mark_low(p_mark.kind);
    v_past bigint := CASE WHEN v_state = 1 THEN greatest(v_low, 0) + {{TURN_STANDING}}
        ELSE {{BIGINT_MAX}} END;
BEGIN
    RETURN QUERY SELECT * FROM (
        (SELECT i.* FROM item i
         WHERE i.queue_id * 8::bigint + i.state = p_mark.queue_id * 8::bigint + v_state
             AND i.state + 0 < 4
             AND (i.turn, i.id) >= (p_mark.turn, p_mark.id) AND i.turn < v_past
             AND i.id <@ p_done AND (p_acked OR NOT slipring.acked(i.id, i.fence))
         ORDER BY i.turn, i.id LIMIT p_limit)
        UNION ALL
        (SELECT n.* FROM slipring.spans(p_mark.unseen) r CROSS JOIN LATERAL (
             SELECT i.* FROM item i
             WHERE i.queue_id * {{STATE_SLOTS}}::bigint + i.state
                     = p_mark.queue_id * {{STATE_SLOTS}}::bigint + v_state
                 AND i.state + 1 < 5
                 AND i.entry >= r.first AND i.entry < r.past AND i.turn >= v_low
                 AND (i.turn, i.id) < (p_mark.turn, p_mark.id) AND i.id <@ p_done
                 AND (p_acked OR NOT slipring.acked(i.id, i.fence))
             OFFSET 0) n
         ORDER BY n.turn, n.id LIMIT p_limit)) i
    ORDER BY i.turn, i.id LIMIT p_limit;
END $$;
