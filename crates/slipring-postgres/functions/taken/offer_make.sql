-- Purpose: lists the next ready messages of a queue for receives by SQL of one message, where the offer
--          before is begun: so each of them tries a message of its own, see offer_take.
-- Inputs:  p_queue; p_state, its newest one.
-- Lock:    the caller holds the queue's lock.
-- Index:   offer_newest, which grows by one entry; the partitions' order indexes, a range for each run
--          of ids, as far as it lists.
CREATE OR REPLACE FUNCTION slipring.offer_make(p_queue slipring.queue, p_state slipring.state)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_ticket bigint := pg_sequence_last_value(slipring.ticket(p_queue.queue_id));
    v_before record;
    v_ready int8multirange;
    v_tables text[];
    v_ids bigint[];
BEGIN
    -- Others are asked for more urgent ones first, see receive_one.
    IF cardinality(p_state.lanes) > 1 OR cardinality(p_queue.lanes) > 1 THEN
        RETURN;
    END IF;
    SELECT o.first, o.past, o.ids[cardinality(o.ids)] AS last INTO v_before
    FROM offer o WHERE o.queue_id = p_queue.queue_id ORDER BY o.first DESC LIMIT 1;
    IF v_ticket < v_before.first THEN
        RETURN;
    END IF;
    v_ready := p_state.open[1] * slipring.cut(p_queue.xid_base);
    -- What is ready before the last offer's end is mostly in the hands of open transactions, or was
    -- given back by some that have failed. So one offer in four begins with the first message.
    IF (v_before.past / {{OFFER_MESSAGES_MAX}}) & 3 <> 0 THEN
        v_ready := v_ready * int8multirange(int8range(v_before.last, NULL, '()'));
    END IF;
    IF isempty(v_ready) THEN
        RETURN;
    END IF;
    v_tables := slipring.live_table_names(p_queue, p_state);
    EXECUTE 'SELECT ARRAY(SELECT k FROM unnest($2) r CROSS JOIN LATERAL (SELECT m.id, m.n FROM '
        || slipring.live_tables(v_tables) || ' m WHERE m.lane = $1 AND m.id >= lower(r)
            AND m.id < least(upper(r), {{PACK_LOOK_MAX}}) + {{PACK_MESSAGES_MAX}}
            AND m.id - coalesce(m.n, 1) + 1 < upper(r) ORDER BY m.id LIMIT {{OFFER_MESSAGES_MAX}}) m
        CROSS JOIN LATERAL generate_series(greatest(m.id - coalesce(m.n, 1) + 1, lower(r)),
            least(m.id, upper(r) - 1)) k LIMIT {{OFFER_MESSAGES_MAX}})'
    INTO v_ids USING p_state.lanes[1], v_ready;
    IF cardinality(v_ids) < {{OFFER_MESSAGES_MIN}} THEN
        RETURN;
    END IF;
    INSERT INTO slipring.offer
    SELECT pg_sequence_last_value('slipring.journal') % 3, p_queue.queue_id, f.first,
        f.first + cardinality(v_ids), v_tables, p_state.lanes[1],
        v_ready * int8multirange(int8range(NULL, v_ids[cardinality(v_ids)], '[]')), v_ids
    FROM greatest(v_ticket + 1, v_before.past) AS f(first);
END $$;
