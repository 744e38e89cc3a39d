-- Purpose: notes how far the ready messages of one standing have been taken by a receive.
-- Inputs:  p_mark as read before; p_done, the cut of the receive; what it looked at in hand-out
--          order: p_turns, p_ids; p_taken, how many of them it took, the first ones; p_whole,
--          whether there were no others.
-- Lock:    the caller holds the queue's lock.
-- Index:   mark_newest grows by one entry.
CREATE OR REPLACE FUNCTION slipring.items_taken(
    p_mark slipring.mark, p_done int8multirange, p_turns bigint[], p_ids bigint[], p_taken int,
    p_whole boolean)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_last int := coalesce(cardinality(p_ids), 0);
BEGIN
    IF p_taken < v_last THEN
        PERFORM slipring.mark_write(p_mark, p_turns[p_taken + 1], p_ids[p_taken + 1], p_done);
    ELSIF v_last > 0 AND (NOT p_whole OR (p_turns[v_last], p_ids[v_last])
        >= (p_mark.turn, p_mark.id)) THEN
        -- Behind the last one, whose older pictures are passed by for good. All that it did not
        -- look at comes later; where none is left, the next ones most likely do.
        PERFORM slipring.mark_write(p_mark, p_turns[v_last], p_ids[v_last] + 1, p_done);
    ELSIF p_whole THEN
        PERFORM slipring.mark_write(p_mark, p_mark.turn, p_mark.id, p_done);
    END IF;
    -- Else there may be some before the mark that it did not come to.
END $$;
