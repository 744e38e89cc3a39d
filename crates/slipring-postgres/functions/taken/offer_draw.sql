-- Purpose: draws tickets of a queue's offers for a receive by SQL of several messages, as long as the next
--          part fits into what it has room for.
-- Inputs:  p_queue; p_now_ms; p_n, how many messages at most.
-- Lock:    none.
-- Index:   state_newest; offer_newest, a few steps in each slot.
-- Answers: the parts, which are of one lane, and how many messages each had when it was offered; all of them
--          together, 0 where there are none; the tables that have them, see live_table_names.
CREATE OR REPLACE FUNCTION slipring.offer_draw(
    p_queue slipring.queue, p_now_ms bigint, p_n bigint, OUT lane bigint,
    OUT parts int8multirange[], OUT sizes int[], OUT todo int8multirange, OUT total bigint,
    OUT tables text[])
LANGUAGE plpgsql AS $$
DECLARE
    v_tickets regclass := slipring.ticket(p_queue.queue_id, true);
    v_past bigint;
    v_low bigint;
    -- The bodies of a part are no more than OFFER_PART_BYTES and those of a row.
    v_parts_max bigint := {{CLAIM_BYTES_MAX}}
        / (p_queue.message_bytes_max + {{OFFER_PART_BYTES}} + {{PACK_BYTES_MAX}});
    v_ticket bigint;
    v_offer slipring.offer;
    v_at int;
BEGIN
    parts := '{}';
    sizes := '{}';
    todo := '{}';
    total := 0;
    SELECT o.past, slipring.offer_low(p_queue, s.generation_low) INTO v_past, v_low
    FROM (SELECT s.generation_low FROM state s WHERE s.queue_id = p_queue.queue_id
          ORDER BY s.seq DESC LIMIT 1) s
    CROSS JOIN LATERAL (
        SELECT o.past, o.made_ms FROM offer o WHERE o.queue_id = p_queue.queue_id AND o.several
        ORDER BY o.first DESC LIMIT 1) o
    WHERE p_now_ms < o.made_ms + {{OFFER_MS}};
    IF v_past IS NULL OR cardinality(p_queue.lanes) > 1 THEN
        RETURN;
    END IF;
    FOR v_try IN 1..{{OFFER_TRIES}} LOOP
        EXIT WHEN cardinality(parts) >= v_parts_max;
        v_ticket := pg_sequence_last_value(v_tickets) + 1;
        EXIT WHEN v_ticket >= v_past;
        IF v_offer.past IS NULL OR v_ticket >= v_offer.past THEN
            SELECT * INTO v_offer FROM offer o
            WHERE o.queue_id = p_queue.queue_id AND o.several AND o.first <= v_ticket
            ORDER BY o.first DESC LIMIT 1;
            lane := coalesce(lane, v_offer.lane);
            EXIT WHEN v_offer.lane <> lane;
        END IF;
        -- A ticket whose part has more messages than there is room for is left for other receives. Another
        -- receive may draw this one first, so the part that is drawn is checked again.
        EXIT WHEN p_now_ms < v_offer.made_ms + {{OFFER_MS}}
            AND total + v_offer.sizes[v_ticket - v_offer.first + 1] > p_n;
        v_ticket := nextval(v_tickets);
        EXIT WHEN v_ticket >= v_past;
        v_at := v_ticket - v_offer.first + 1;
        CONTINUE WHEN v_offer.past IS NULL OR v_ticket >= v_offer.past
            OR p_now_ms >= v_offer.made_ms + {{OFFER_MS}} OR total + v_offer.sizes[v_at] > p_n;
        parts := parts || v_offer.ready
            * int8multirange(int8range(v_offer.ids[v_at - 1], v_offer.ids[v_at], '(]'));
        sizes := sizes || v_offer.sizes[v_at];
        todo := todo + parts[cardinality(parts)];
        total := total + v_offer.sizes[v_at];
    END LOOP;
    -- What was let go since is not read any more; nor has an older offer's table anything left that is not
    -- among the last one's.
    tables := v_offer.tables[1 + greatest(v_low - v_offer.generation_low, 0)::int:];
END $$;
