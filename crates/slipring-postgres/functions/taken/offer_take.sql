-- Purpose: receive of one message by the queue's offers: the message of the next ticket, by few
--          statements and without looking at those that other receives have.
-- Inputs:  p_queue; p_now_ms; p_lease_ms or null. The caller has entered the generations of the journal.
-- Lock:    the message's, advisory, and the row's with others, see taken_first; both to the end of the
--          transaction. Also those of at most OFFER_MISSES messages that others turn out to have.
-- Index:   state_newest; offer_newest, a few steps in each slot; see items_ready; the partitions' order
--          indexes, a step; see offer_open, taken_next; lease's indexes grow by one entry.
-- Answers: the message with its lease. Without a fence, receive_one has to look: nothing is offered that
--          is ready still and free, or it is one of the cases in which that does not do either.
CREATE OR REPLACE FUNCTION slipring.offer_take(
    p_queue slipring.queue, p_now_ms bigint, p_lease_ms bigint, OUT message slipring.message,
    OUT fence bigint, OUT deadline_ms bigint)
LANGUAGE plpgsql AS $$
DECLARE
    v_new boolean := pg_current_xact_id_if_assigned() IS NULL;
    v_tickets regclass := slipring.ticket(p_queue.queue_id, false);
    v_begin record;
    v_ticket bigint;
    v_offer slipring.offer;
    v_misses int := 0;
    v_n int;
    v_id bigint;
    v_open int8multirange;
BEGIN
    SELECT o.past, s.open, slipring.offer_low(p_queue, s.generation_low) AS low INTO v_begin
    FROM (SELECT s.open[1] AS open, s.generation_low FROM state s
          WHERE s.queue_id = p_queue.queue_id ORDER BY s.seq DESC LIMIT 1) s
    CROSS JOIN LATERAL (
        SELECT o.past, o.made_ms FROM offer o
        WHERE o.queue_id = p_queue.queue_id AND NOT o.several ORDER BY o.first DESC LIMIT 1) o
    WHERE p_now_ms < o.made_ms + {{OFFER_MS}};
    IF v_begin.past IS NULL OR pg_sequence_last_value(v_tickets) >= v_begin.past - 1
        OR p_queue.fifo OR slipring.queue_paused(p_queue, p_now_ms)
        OR p_queue.home_at <> p_queue.written_at OR cardinality(p_queue.lanes) > 1
        OR slipring.items_ready(p_queue.queue_id) THEN
        RETURN;
    END IF;
    FOR v_try IN 1..{{OFFER_TRIES}} LOOP
        EXIT WHEN v_misses = {{OFFER_MISSES}};
        v_ticket := nextval(v_tickets);
        EXIT WHEN v_ticket >= v_begin.past;
        IF v_offer.past IS NULL OR v_ticket >= v_offer.past THEN
            SELECT * INTO v_offer FROM offer o
            WHERE o.queue_id = p_queue.queue_id AND NOT o.several AND o.first <= v_ticket
            ORDER BY o.first DESC LIMIT 1;
        END IF;
        CONTINUE WHEN v_offer.past IS NULL OR v_ticket >= v_offer.past
            OR p_now_ms >= v_offer.made_ms + {{OFFER_MS}};
        v_n := v_ticket - v_offer.first + 1;
        v_id := v_offer.ids[v_n];
        CONTINUE WHEN NOT v_id <@ v_begin.open
            OR NOT pg_try_advisory_xact_lock(hashint8extended(v_id, p_queue.lock_key # 1));
        v_misses := v_misses + 1;
        -- What was let go since is not read any more.
        FOR v_at IN 1 + greatest(v_begin.low - v_offer.generation_low, 0)
            ..cardinality(v_offer.tables)
        LOOP
            EXECUTE 'SELECT m.* FROM ' || v_offer.tables[v_at] || ' m WHERE m.lane = $1
                AND m.id >= $2 AND m.id < $2 + {{PACK_MESSAGES_MAX}}
                AND m.id - coalesce(m.n, 1) < $2
                ORDER BY m.id LIMIT 1 FOR KEY SHARE SKIP LOCKED'
            INTO message USING v_offer.lane, v_id;
            EXIT WHEN message.id IS NOT NULL;
        END LOOP;
        CONTINUE WHEN message.id IS NULL;
        v_open := slipring.offer_open(p_queue, v_offer.lane, v_id);
        EXIT WHEN v_open IS NOT NULL;
    END LOOP;
    IF v_open IS NULL THEN
        RETURN;
    END IF;
    fence := CASE WHEN v_new THEN slipring.taken_base(p_queue, p_now_ms)
        ELSE slipring.taken_next(p_queue) END;
    IF message.n IS NOT NULL THEN
        message := slipring.pack_message(message, v_id);
    END IF;
    deadline_ms := p_now_ms + coalesce(p_lease_ms, message.lease_ms, p_queue.visibility_timeout_ms);
    -- Of the numbers between the message before and this one none is that of a message.
    INSERT INTO slipring.lease VALUES (pg_sequence_last_value('slipring.journal') % 3,
        p_queue.queue_id, fence, 0, 0, v_offer.lane, deadline_ms, p_now_ms, NULL, 1, message.bytes,
        message.bytes, v_open * v_offer.ready
            * int8multirange(int8range(v_offer.ids[v_n - 1], v_id, '(]')));
    -- After the row, so that the transaction has its number before the sequence moves.
    PERFORM nextval(p_queue.activity);
END $$;
