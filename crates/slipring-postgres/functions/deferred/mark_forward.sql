-- Purpose: moves a mark to before the first message that is left of those it is about, where more
--          than a few pictures that are out of date would be walked over else. Some that are left
--          before it are kept among those to be looked at by their entries.
-- Inputs:  p_mark as read before; p_done, a cut that was made before; p_turn, p_id: before there
--          none is left, but for those with an entry that the mark has not seen; p_least, how many
--          pictures are more than a few.
-- Lock:    the caller holds the queue's lock.
-- Index:   item_order, at most 1,000 steps; item_order_new for entries that the mark has not seen;
--          item_picture_N_newest; mark_newest may grow by one entry.
-- Answers: a turn before which none is left, null where none is.
CREATE OR REPLACE FUNCTION slipring.mark_forward(
    p_mark slipring.mark, p_done int8multirange, p_turn bigint, p_id bigint, p_least bigint)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_most CONSTANT int := {{MARK_STEPS}};
    v_kept_most CONSTANT int := 8;
    v_state int := CASE WHEN p_mark.kind IN (7, 8) THEN 1 ELSE p_mark.kind END;
    v_low bigint := slipring.mark_low(p_mark.kind);
    v_past bigint := CASE WHEN v_state = 1 THEN greatest(v_low, 0) + {{TURN_STANDING}}
        ELSE {{BIGINT_MAX}} END;
    -- Marks of times are before what comes next, the others at it.
    v_before int := CASE WHEN v_state IN (0, 2) THEN 1 ELSE 0 END;
    v_next record;
    v_new record;
BEGIN
    -- One that came back to its place has its older pictures there, and is kept as well.
    SELECT w.turn, w.id, w.entry, w.newest, w.newest AND w.again AS again, w.n,
        w.newest OR w.n = v_most AS may INTO v_next
    FROM (SELECT p.turn, p.id, p.entry, row_number() OVER o AS n, lead(p.id) OVER o IS NULL AS last,
              lag(p.id) OVER o IS NOT DISTINCT FROM p.id AS again,
              p.seq = (SELECT n.seq FROM item_picture n WHERE n.id = p.id
                  ORDER BY n.seq DESC LIMIT 1) AS newest
          FROM (SELECT p.turn, p.id, p.seq, p.entry FROM item_picture p
                WHERE p.queue_id * 8::bigint + p.state = p_mark.queue_id * 8::bigint + v_state
                    AND p.state + 0 < 4
                    AND (p.turn, p.id) >= (p_turn, p_id) AND p.turn < v_past
                ORDER BY p.turn, p.id LIMIT v_most) p
          WINDOW o AS (ORDER BY p.turn, p.id)) w
    WHERE w.newest OR w.last LIMIT 1;
    IF v_next.n IS NOT NULL THEN
        p_turn := v_next.turn;
        p_id := v_next.id + CASE WHEN v_next.newest AND NOT v_next.again THEN 0 ELSE 1 END
            - v_before;
    END IF;
    SELECT count(*) AS n,
        (array_agg(n.turn ORDER BY n.turn, n.id) FILTER (WHERE n.newest))[1] AS turn,
        (array_agg(n.id ORDER BY n.turn, n.id) FILTER (WHERE n.newest))[1] AS id,
        array_agg(DISTINCT n.entry) FILTER (
            WHERE n.newest AND (n.turn, n.id - v_before) < (p_turn, p_id)) AS entries
    INTO v_new
    FROM slipring.spans(p_mark.unseen) r CROSS JOIN LATERAL (
        SELECT p.turn, p.id, p.entry, CASE WHEN p.turn >= v_low AND p.turn < v_past THEN
            p.seq = (SELECT n.seq FROM item_picture n WHERE n.id = p.id
                ORDER BY n.seq DESC LIMIT 1) END AS newest
        FROM item_picture p
        WHERE p.queue_id * {{STATE_SLOTS}}::bigint + p.state
                = p_mark.queue_id * {{STATE_SLOTS}}::bigint + v_state
            AND p.entry >= r.first AND p.entry < r.past
            AND p.state + 1 < 5
        OFFSET 0) n;
    IF coalesce(v_next.n, 0) + v_new.n >= p_least THEN
        IF cardinality(v_new.entries) > v_kept_most THEN
            p_turn := v_new.turn;
            p_id := v_new.id - v_before;
            v_new.entries := NULL;
        END IF;
        IF v_next.again THEN
            v_new.entries := v_new.entries || v_next.entry;
        END IF;
        PERFORM slipring.mark_write(p_mark, p_turn, p_id, p_done - coalesce((
            SELECT range_agg(int8range(e, e + {{XID_NUMBERS}})) FROM unnest(v_new.entries) e), '{}'));
    END IF;
    RETURN least(CASE WHEN v_next.may THEN v_next.turn END, v_new.turn);
END $$;
