-- Purpose: locks messages for a receive by SQL of several by the queue's offers: the parts of the next
--          tickets, by few statements and without looking at those that other receives have.
-- Inputs:  p_queue; p_now_ms; p_n, how many messages at most.
-- Lock:    the rows', to the end of the transaction; those that are locked are passed over.
-- Index:   offer_newest, a few steps in each slot; the partitions' order indexes, a range for each run of
--          ids; see state_read.
-- Answers: see taken_apart; null where nothing is offered that is ready still and free.
CREATE OR REPLACE FUNCTION slipring.offer_apart(
    p_queue slipring.queue, p_now_ms bigint, p_n bigint)
RETURNS slipring.state LANGUAGE plpgsql AS $$
DECLARE
    v_tickets regclass := slipring.ticket(p_queue.queue_id, true);
    v_past bigint := (SELECT o.past FROM (
        SELECT o.past, o.made_ms FROM offer o WHERE o.queue_id = p_queue.queue_id AND o.several
        ORDER BY o.first DESC LIMIT 1) o WHERE p_now_ms < o.made_ms + {{OFFER_MS}});
    -- A part has one row, or its bodies no more than OFFER_PART_BYTES and the last row's.
    v_parts_max bigint := {{CLAIM_BYTES_MAX}}
        / (p_queue.message_bytes_max + {{OFFER_PART_BYTES}} + {{PACK_BYTES_MAX}});
    v_ticket bigint;
    v_offer slipring.offer;
    v_lane bigint;
    v_at int;
    v_todo int8multirange := '{}';
    v_got bigint := 0;
    v_some int8multirange;
    v_mine int8multirange := '{}';
    v_kept record;
BEGIN
    IF v_past IS NULL OR cardinality(p_queue.lanes) > 1 THEN
        RETURN NULL;
    END IF;
    FOR v_try IN 1..least({{OFFER_TRIES}}, v_parts_max) LOOP
        v_ticket := pg_sequence_last_value(v_tickets) + 1;
        EXIT WHEN v_ticket >= v_past;
        IF v_offer.past IS NULL OR v_ticket >= v_offer.past THEN
            SELECT * INTO v_offer FROM offer o
            WHERE o.queue_id = p_queue.queue_id AND o.several AND o.first <= v_ticket
            ORDER BY o.first DESC LIMIT 1;
            v_lane := coalesce(v_lane, v_offer.lane);
            EXIT WHEN v_offer.lane <> v_lane;
        END IF;
        -- The next part is left for others where it is too large. Mostly nobody else draws it first.
        EXIT WHEN v_got + v_offer.sizes[v_ticket - v_offer.first + 1] > p_n;
        v_ticket := nextval(v_tickets);
        EXIT WHEN v_ticket >= v_past;
        v_at := v_ticket - v_offer.first + 1;
        CONTINUE WHEN v_offer.past IS NULL OR v_ticket >= v_offer.past
            OR p_now_ms >= v_offer.made_ms + {{OFFER_MS}} OR v_got + v_offer.sizes[v_at] > p_n;
        v_todo := v_todo + v_offer.ready
            * int8multirange(int8range(v_offer.ids[v_at - 1], v_offer.ids[v_at], '(]'));
        v_got := v_got + v_offer.sizes[v_at];
    END LOOP;
    IF v_got = 0 THEN
        RETURN NULL;
    END IF;
    -- An older offer's tables that are not among the last one's have nothing left.
    FOR v_table IN 1..cardinality(v_offer.tables) LOOP
        EXECUTE 'SELECT range_agg(int8range(m.id - m.n, m.id, ''(]'')) FROM unnest($2) r
            CROSS JOIN LATERAL (SELECT m.id, coalesce(m.n, 1) AS n FROM ' || v_offer.tables[v_table]
            || ' m WHERE m.lane = $1 AND m.id >= lower(r) AND m.id < upper(r) + {{PACK_MESSAGES_MAX}}
                AND m.id - coalesce(m.n, 1) + 1 < upper(r) ORDER BY m.id FOR UPDATE SKIP LOCKED) m'
        INTO v_some USING v_lane, v_todo;
        v_mine := v_mine + v_todo * coalesce(v_some, '{}');
        EXIT WHEN (SELECT sum(upper(r) - lower(r)) FROM unnest(v_mine) r) = v_got;
    END LOOP;
    IF isempty(v_mine) THEN
        RETURN NULL;
    END IF;
    IF (SELECT sum(upper(r) - lower(r)) FROM unnest(v_mine) r) = v_got THEN
        -- With the numbers between, which no message has.
        v_mine := v_todo;
    END IF;
    v_kept := slipring.taken_keep(slipring.state_read(p_queue), ARRAY[v_lane], ARRAY[v_mine]);
    RETURN CASE WHEN NOT isempty((v_kept.p_state).open[1]) THEN v_kept.p_state END;
END $$;
