-- Purpose: notes that messages of all queues whose time has come were taken care of, and says when
--          the next one's comes.
-- Inputs:  p_mark as read before; p_done, the cut made before they were read; p_until_ms and
--          p_limit as given to items_timed; p_found, what that answered.
-- Lock:    none.
-- Index:   item_time, at most 100 steps past pictures that are out of date; item_time_new;
--          item_picture_N_newest.
-- Answers: a time before which none comes, null when there is none.
CREATE OR REPLACE FUNCTION slipring.items_passed(
    p_mark slipring.mark, p_done int8multirange, p_until_ms bigint, p_limit bigint,
    p_found slipring.item_picture[])
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_new int8multirange := int8multirange(int8range(0, NULL)) - p_done;
    -- There may be more than were asked for. And some may be left: a lease that waits for the end
    -- of a user's transaction.
    v_turn bigint := least(
        CASE WHEN cardinality(p_found) = p_limit THEN (SELECT max(f.turn) FROM unnest(p_found) f)
            ELSE p_until_ms + 1 END,
        (SELECT min(i.turn) FROM unnest(p_found) f CROSS JOIN LATERAL slipring.item_now(f.id) i
         WHERE i.state = p_mark.kind AND i.turn <= p_until_ms
             AND EXISTS (SELECT FROM slipring.queue q WHERE q.queue_id = i.queue_id))) - 1;
    v_next bigint;
    v_many int := 100;
BEGIN
    -- Pictures that are out of date by then are walked over a few times, not each time.
    IF cardinality(p_found) > 0 OR EXISTS (
        SELECT FROM slipring.item_picture p
        WHERE p.state = p_mark.kind AND p.state IN (0, 2) AND p.turn > p_mark.turn
            AND p.turn <= v_turn
        OFFSET v_many - 1 LIMIT 1) OR EXISTS (
        SELECT FROM slipring.spans(p_mark.unseen * p_done) r CROSS JOIN LATERAL (
            SELECT FROM slipring.item_picture i
            WHERE i.state = p_mark.kind AND i.state IN (0, 2) AND i.entry >= r.first
                AND i.entry < r.past LIMIT 1) n) THEN
        PERFORM slipring.mark_write(p_mark, v_turn, 0, p_done);
    END IF;
    SELECT i.turn INTO v_next
    FROM (
        SELECT p.turn, p.seq = (SELECT n.seq FROM slipring.item_picture n WHERE n.id = p.id
            ORDER BY n.seq DESC LIMIT 1) AS newest
        FROM slipring.item_picture p
        WHERE p.state = p_mark.kind AND p.state IN (0, 2) AND p.turn > v_turn
        ORDER BY p.turn LIMIT v_many) i
    WHERE i.newest LIMIT 1;
    IF v_next IS NULL THEN
        SELECT p.turn INTO v_next FROM slipring.item_picture p
        WHERE p.state = p_mark.kind AND p.state IN (0, 2) AND p.turn > v_turn
        ORDER BY p.turn OFFSET v_many - 1 LIMIT 1;
    END IF;
    RETURN least(v_next, (
        SELECT min(n.turn) FROM slipring.spans(v_new) r CROSS JOIN LATERAL (
            SELECT i.turn FROM slipring.item i
            WHERE i.state = p_mark.kind AND i.state IN (0, 2) AND i.entry >= r.first
                AND i.entry < r.past AND i.turn <= v_turn
            OFFSET 0) n));
END $$;
