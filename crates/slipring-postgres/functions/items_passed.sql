-- Purpose: notes that messages of a queue whose time has come were taken care of, and says when the
--          next one's comes.
-- Inputs:  p_mark as read before; p_done, the cut made before they were read; p_until_ms and
--          p_limit as given to items_timed; p_found, what that answered.
-- Lock:    the caller holds the queue's lock.
-- Index:   item_order, at most 100 steps past pictures that are out of date; item_order_new;
--          item_picture_N_newest; see items_next.
-- Answers: a time before which none comes, null when there is none.
CREATE OR REPLACE FUNCTION slipring.items_passed(
    p_mark slipring.mark, p_done int8multirange, p_until_ms bigint, p_limit bigint,
    p_found slipring.item_picture[])
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_after slipring.mark := p_mark;
    v_left record;
BEGIN
    v_after.turn := p_until_ms;
    v_after.id := 9223372036854775807;
    IF cardinality(p_found) = p_limit THEN
        -- There may be more than were asked for.
        SELECT f.turn, f.id INTO v_after.turn, v_after.id FROM unnest(p_found) f
        ORDER BY f.turn DESC, f.id DESC LIMIT 1;
    END IF;
    -- Some may be left: a lease that waits for the end of a user's transaction, or what the turn had
    -- no time for.
    SELECT i.turn, i.id INTO v_left FROM unnest(p_found) f
    CROSS JOIN LATERAL slipring.item_now(f.id) i
    WHERE i.queue_id = p_mark.queue_id AND i.state = p_mark.kind AND i.turn <= p_until_ms
    ORDER BY i.turn, i.id LIMIT 1;
    IF (v_left.turn, v_left.id - 1) < (v_after.turn, v_after.id) THEN
        v_after.turn := v_left.turn;
        v_after.id := v_left.id - 1;
    END IF;
    v_after.unseen := int8multirange(int8range(0, NULL)) - p_done;
    -- Pictures that are out of date by then are walked over a few times, not each time.
    IF cardinality(p_found) > 0 OR EXISTS (
        SELECT FROM slipring.item_picture p
        WHERE p.queue_id = p_mark.queue_id AND p.state = p_mark.kind AND p.state < 4
            AND (p.turn, p.id) > (p_mark.turn, p_mark.id)
            AND (p.turn, p.id) <= (v_after.turn, v_after.id)
        OFFSET 99 LIMIT 1) OR EXISTS (
        SELECT FROM slipring.spans(p_mark.unseen * p_done) r CROSS JOIN LATERAL (
            SELECT FROM slipring.item_picture i
            WHERE i.queue_id = p_mark.queue_id AND i.state = p_mark.kind AND i.state < 4
                AND i.entry >= r.first AND i.entry < r.past LIMIT 1) n) THEN
        PERFORM slipring.mark_write(p_mark, v_after.turn, v_after.id, p_done);
    ELSIF (p_mark.turn, p_mark.id) > (v_after.turn, v_after.id) THEN
        v_after.turn := p_mark.turn;
        v_after.id := p_mark.id;
    END IF;
    RETURN slipring.items_next(v_after);
END $$;
