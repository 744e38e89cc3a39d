-- Purpose: when the next message of a queue is due, or its lease lapses.
-- Inputs:  p_mark of kind 0 or 2: of pictures that are not after it, only those with an entry in its
--          unseen are looked at.
-- Lock:    none; who holds the queue's lock gets what counts.
-- Index:   item_order, at most 100 steps past pictures that are out of date; item_order_new;
--          item_picture_N_newest.
-- Answers: a time before which none comes, null when there is none.
CREATE OR REPLACE FUNCTION slipring.items_next(p_mark slipring.mark)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_next bigint;
    v_many int := 100;
BEGIN
    SELECT i.turn INTO v_next
    FROM (
        SELECT p.turn, p.seq = (SELECT n.seq FROM item_picture n WHERE n.id = p.id
            ORDER BY n.seq DESC LIMIT 1) AS newest
        FROM item_picture p
        WHERE p.queue_id * 8::bigint + p.state = p_mark.queue_id * 8::bigint + p_mark.kind
            AND p.state + 0 < 4
            AND (p.turn, p.id) > (p_mark.turn, p_mark.id)
        ORDER BY p.turn, p.id LIMIT v_many) i
    WHERE i.newest LIMIT 1;
    IF v_next IS NULL THEN
        SELECT p.turn INTO v_next FROM item_picture p
        WHERE p.queue_id * 8::bigint + p.state = p_mark.queue_id * 8::bigint + p_mark.kind
            AND p.state + 0 < 4
            AND (p.turn, p.id) > (p_mark.turn, p_mark.id)
        ORDER BY p.turn, p.id OFFSET v_many - 1 LIMIT 1;
    END IF;
    RETURN least(v_next, (
        SELECT min(n.turn) FROM slipring.spans(p_mark.unseen) r CROSS JOIN LATERAL (
            SELECT i.turn FROM item i
            WHERE i.queue_id * {{STATE_SLOTS}}::bigint + i.state
                    = p_mark.queue_id * {{STATE_SLOTS}}::bigint + p_mark.kind
                AND i.state + 1 < 5
                AND i.entry >= r.first AND i.entry < r.past
                AND (i.turn, i.id) <= (p_mark.turn, p_mark.id)
            OFFSET 0) n));
END $$;
