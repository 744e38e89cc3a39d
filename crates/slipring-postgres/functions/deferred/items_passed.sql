-- Purpose: notes that messages of a queue whose time has come were taken care of, and says when the
--          next one's comes.
-- Inputs:  p_mark as read before; p_done, the cut made before they were read; p_until_ms and
--          p_limit as given to items_timed; p_found, what that answered.
-- Lock:    the caller holds the queue's lock.
-- Index:   item_picture_N_newest; see mark_forward.
-- Answers: a time before which none comes, null when there is none.
CREATE OR REPLACE FUNCTION slipring.items_passed(
    p_mark slipring.mark, p_done int8multirange, p_until_ms bigint, p_limit bigint,
    p_found slipring.item_picture[])
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_turn bigint := p_until_ms;
    v_id bigint := {{BIGINT_MAX}};
    v_left record;
BEGIN
    IF p_found = '{}' THEN
        RETURN slipring.mark_forward(p_mark, p_done, p_mark.turn, p_mark.id, 50);
    END IF;
    IF cardinality(p_found) = p_limit THEN
        -- There may be more than were asked for.
        SELECT f.turn, f.id INTO v_turn, v_id FROM unnest(p_found) f
        ORDER BY f.turn DESC, f.id DESC LIMIT 1;
    END IF;
    -- Some may be left: a lease that waits for the end of a user's transaction, or what the turn had
    -- no time for.
    SELECT i.turn, i.id INTO v_left FROM unnest(p_found) f
    CROSS JOIN LATERAL slipring.item_now(f.id) i
    WHERE i.queue_id = p_mark.queue_id AND i.state = p_mark.kind AND i.turn <= p_until_ms
    ORDER BY i.turn, i.id LIMIT 1;
    IF (v_left.turn, v_left.id - 1) < (v_turn, v_id) THEN
        v_turn := v_left.turn;
        v_id := v_left.id - 1;
    END IF;
    -- Before the mark is nothing but what it has not seen.
    IF (v_turn, v_id) < (p_mark.turn, p_mark.id) THEN
        v_turn := p_mark.turn;
        v_id := p_mark.id;
    END IF;
    RETURN slipring.mark_forward(p_mark, p_done, v_turn, v_id, 0);
END $$;
