-- Purpose: notes how far a receive has taken the ready messages with pictures, by standing.
-- Inputs:  p_marks as read before, null where it did not look; p_done, the cut of the receive;
--          p_feeds and p_limits, what it looked at; p_standings, the answer of claim_share; p_all:
--          also of standings of which it took nothing, so that what a mark has not seen does not
--          grow for ever.
-- Lock:    the caller holds the queue's lock.
-- Index:   mark_newest grows by one entry for each.
CREATE OR REPLACE FUNCTION slipring.claim_marks(
    p_marks slipring.mark[], p_done int8multirange, p_feeds slipring.feed[], p_limits bigint[],
    p_standings int[], p_all boolean)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_feed slipring.feed;
    v_items record;
    v_given bigint;
    v_last int;
    v_whole boolean;
BEGIN
    FOR v_at IN 1..3 LOOP
        v_feed := p_feeds[v_at];
        v_given := cardinality(array_positions(p_standings, v_at));
        SELECT array_agg(f.turn ORDER BY f.n) AS turns, array_agg(f.id ORDER BY f.n) AS ids,
            (count(*) FILTER (WHERE f.n <= v_given))::int AS taken
        INTO v_items FROM unnest(v_feed.ats, v_feed.turns, v_feed.ids) WITH ORDINALITY
            AS f(at, turn, id, n) WHERE f.at = 0;
        CONTINUE WHEN v_items.taken = 0 AND (NOT p_all OR (p_marks[v_at]).queue_id IS NULL);
        v_last := coalesce(cardinality(v_items.ids), 0);
        v_whole := coalesce(cardinality(v_feed.ids), 0) < p_limits[v_at];
        IF v_items.taken < v_last THEN
            PERFORM slipring.mark_write(p_marks[v_at], v_items.turns[v_items.taken + 1],
                v_items.ids[v_items.taken + 1], p_done);
        ELSIF v_last > 0 AND (NOT v_whole OR (v_items.turns[v_last], v_items.ids[v_last])
            >= ((p_marks[v_at]).turn, (p_marks[v_at]).id)) THEN
            -- Behind the last one, whose older pictures are passed by for good. All that it did not
            -- look at comes later; where none is left, the next ones most likely do.
            PERFORM slipring.mark_write(p_marks[v_at], v_items.turns[v_last],
                v_items.ids[v_last] + 1, p_done);
        ELSIF v_whole THEN
            PERFORM slipring.mark_write(p_marks[v_at], (p_marks[v_at]).turn, (p_marks[v_at]).id,
                p_done);
        END IF;
        -- Else there may be some before the mark that it did not come to.
    END LOOP;
END $$;
