-- Purpose: notes that messages of all queues whose time has come were taken care of, and says when
--          the next one's comes.
-- Inputs:  p_mark as read before; p_done, the cut made before they were read; p_until_ms as given
--          to items_timed; p_ids, what that answered; p_last_ms, the time of the last of them where
--          there may be more, else null.
-- Lock:    none.
-- Index:   item_time, at most 1,000 steps past pictures that are out of date; item_time_new;
--          item_picture_N_newest.
-- Answers: a time before which none comes, null when there is none.
CREATE OR REPLACE FUNCTION slipring.items_passed(
    p_mark slipring.mark, p_done int8multirange, p_until_ms bigint, p_ids bigint[],
    p_last_ms bigint)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_new int8multirange := int8multirange(int8range(0, NULL)) - p_done;
    -- Some may be left: a lease that waits for the end of a user's transaction.
    v_turn bigint := least(coalesce(p_last_ms, p_until_ms + 1),
        (SELECT min(i.turn) FROM unnest(p_ids) u CROSS JOIN LATERAL slipring.item_now(u) i
         WHERE i.state = p_mark.kind AND i.turn <= p_until_ms
             AND EXISTS (SELECT FROM slipring.queue q WHERE q.queue_id = i.queue_id))) - 1;
    v_next bigint;
BEGIN
    IF p_ids <> '{}' OR EXISTS (
        SELECT FROM unnest(p_mark.unseen * p_done) r CROSS JOIN LATERAL (
            SELECT FROM slipring.item_picture i
            WHERE i.state = p_mark.kind AND i.state IN (0, 2) AND i.entry >= lower(r)
                AND i.entry < upper(r) LIMIT 1) n) THEN
        PERFORM slipring.mark_write(p_mark, v_turn, 0, p_done);
    END IF;
    SELECT coalesce(min(i.turn) FILTER (WHERE i.newest),
        CASE WHEN count(*) = 1000 THEN max(i.turn) END) INTO v_next
    FROM (
        SELECT p.turn, p.seq = (SELECT n.seq FROM slipring.item_picture n WHERE n.id = p.id
            ORDER BY n.seq DESC LIMIT 1) AS newest
        FROM slipring.item_picture p
        WHERE p.state = p_mark.kind AND p.state IN (0, 2) AND p.turn > v_turn
        ORDER BY p.turn LIMIT 1000) i;
    RETURN least(v_next, (
        SELECT min(n.turn) FROM unnest(v_new) r CROSS JOIN LATERAL (
            SELECT i.turn FROM slipring.item i
            WHERE i.state = p_mark.kind AND i.state IN (0, 2) AND i.entry >= lower(r)
                AND i.entry < coalesce(upper(r), 9223372036854775807) AND i.turn <= v_turn
            OFFSET 0) n));
END $$;
