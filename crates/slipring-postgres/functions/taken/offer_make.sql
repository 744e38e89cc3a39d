-- Purpose: lists the next ready messages of a queue for receives by SQL of one message, where the offer
--          before is begun: so each of them tries a message of its own, see offer_take.
-- Inputs:  p_queue; p_state, its newest one; p_now_ms.
-- Lock:    the caller holds the queue's lock.
-- Index:   offer_newest, which grows by one entry; see offer_ids.
CREATE OR REPLACE FUNCTION slipring.offer_make(
    p_queue slipring.queue, p_state slipring.state, p_now_ms bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_ticket bigint := pg_sequence_last_value(slipring.ticket(p_queue.queue_id));
    v_before slipring.offer;
    v_left bigint := 0;
    v_ready int8multirange;
    v_tables text[];
    v_ids bigint[];
BEGIN
    -- Of several priorities a more urgent message may come any time, see receive_one.
    IF cardinality(p_state.lanes) > 1 OR cardinality(p_queue.lanes) > 1 THEN
        RETURN;
    END IF;
    SELECT * INTO v_before FROM offer o WHERE o.queue_id = p_queue.queue_id
    ORDER BY o.first DESC LIMIT 1;
    IF p_now_ms < v_before.made_ms + {{OFFER_MS}} THEN
        IF v_ticket + 1 < v_before.first THEN
            RETURN;
        END IF;
        v_left := greatest(v_before.past - 1 - v_ticket, 0);
    END IF;
    v_ready := p_state.open[1] * slipring.cut(p_queue.xid_base);
    IF v_left > 0 THEN
        v_ready := v_ready - int8multirange(int8range(
            v_before.ids[cardinality(v_before.ids) - v_left + 1],
            v_before.ids[cardinality(v_before.ids)], '[]'));
    END IF;
    -- Open transactions hold most of what is ready before the end of the last offer. The rest was given
    -- back by a rollback, or committed late.
    IF p_now_ms < v_before.front_ms + {{OFFER_MS}} THEN
        v_ready := v_ready * int8multirange(int8range(
            v_before.ids[cardinality(v_before.ids)], NULL, '()'));
    ELSE
        v_before.front_ms := p_now_ms;
    END IF;
    v_tables := slipring.live_table_names(p_queue, p_state);
    v_ids := slipring.offer_ids(v_tables, p_state.lanes[1], v_ready,
        least({{OFFER_MESSAGES_MAX}}, p_queue.in_flight_max - p_state.leased - v_left
            - {{IN_FLIGHT_NEAR}}));
    IF cardinality(v_ids) >= {{OFFER_MESSAGES_MIN}} THEN
        INSERT INTO slipring.offer
        SELECT pg_sequence_last_value('slipring.journal') % 3, p_queue.queue_id, f.first,
            f.first + cardinality(v_ids), p_now_ms, v_before.front_ms, v_tables,
            coalesce(pg_sequence_last_value(p_queue.generation_low), p_state.generation_low),
            p_state.lanes[1],
            v_ready * int8multirange(int8range(NULL, v_ids[cardinality(v_ids)], '[]')), v_ids
        FROM greatest(v_ticket + 1, v_before.past) AS f(first);
    END IF;
EXCEPTION WHEN OTHERS THEN
    -- Receives go on without it.
    RAISE WARNING 'no messages of queue % are offered: %', p_queue.queue_id, SQLERRM;
END $$;
