-- Purpose: lists the next ready messages of a queue for receives by SQL, where much of the offer before is
--          drawn: so each of them tries messages of its own, see offer_take and offer_apart.
-- Inputs:  p_queue; p_state, its newest one, or that of a moment ago; p_now_ms; p_n, how many a receive of those
--          for which it is has been handed.
-- Lock:    see offer_turn. The queue's lock is not needed, see offer_beside.
-- Index:   offer_newest, which grows by an entry for each row of the offer; see items_count, offer_ids, offer_parts.
CREATE OR REPLACE FUNCTION slipring.offer_make(
    p_queue slipring.queue, p_state slipring.state, p_now_ms bigint, p_n bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_several boolean := p_n > 1;
    v_ticket bigint := pg_sequence_last_value(slipring.ticket(p_queue.queue_id, v_several));
    -- Of these a receive takes as many as it has room for.
    v_part bigint := least(greatest(p_n / 8, {{OFFER_PART_MIN}}), {{PACK_MESSAGES_MAX}});
    v_before slipring.offer;
    v_made record;
    v_rows bigint := 1;
    v_row bigint := CASE WHEN v_several THEN {{OFFER_PARTS_MAX}} ELSE {{OFFER_MESSAGES_MAX}} END;
    v_left bigint := 0;
    v_offered bigint := 0;
    v_ready int8multirange;
    v_tables text[];
    v_ids bigint[];
    v_sizes int[];
    v_last bigint;
    v_limit bigint;
BEGIN
    -- Of several priorities a more urgent message may come any time, see receive_one.
    IF cardinality(p_state.lanes) > 1 OR cardinality(p_queue.lanes) > 1
        OR v_several AND (p_n < {{OFFER_PART_MIN}}
            OR p_queue.message_bytes_max > {{CLAIM_BYTES_MAX}} / 2) THEN
        RETURN;
    END IF;
    SELECT * INTO v_before FROM offer o
    WHERE o.queue_id = p_queue.queue_id AND o.several = v_several ORDER BY o.first DESC LIMIT 1;
    IF p_now_ms < v_before.made_ms + {{OFFER_MS}} THEN
        v_left := greatest(v_before.past - 1 - v_ticket, 0);
        -- Early enough, since the commit that makes it may be late where many wait for a processor.
        IF NOT v_several THEN
            IF v_left >= 2 * cardinality(v_before.ids) THEN
                RETURN;
            END IF;
        ELSE
            v_made := slipring.offer_last(p_queue.queue_id);
            IF v_left >= (v_made.past - v_made.first) / 2 THEN
                RETURN;
            END IF;
            -- For half of the time that an offer counts.
            v_rows := least(greatest(CASE
                WHEN p_now_ms < v_made.made_ms + {{OFFER_MS}} / 4
                    AND v_made.past - v_made.first = v_made.rows * v_row THEN 2 * v_made.rows
                WHEN p_now_ms < v_made.made_ms + {{OFFER_MS}} / 2 THEN v_made.rows
                ELSE v_made.rows / 2 END, 1), {{OFFER_ROWS_MAX}});
        END IF;
        v_last := v_before.ids[cardinality(v_before.ids)];
    ELSE
        v_before.reach := NULL;
        v_before.again := NULL;
        v_before.again_next := NULL;
        v_before.front_ms := NULL;
    END IF;
    IF NOT slipring.offer_turn(p_queue, p_n, p_now_ms) THEN
        RETURN;
    END IF;
    v_ready := p_state.open[1] * slipring.cut(p_queue.xid_base);
    IF v_left > 0 THEN
        SELECT v_ready - range_agg(int8range(coalesce(o.ids[v_ticket - o.first + 1] + 1, lower(o.ready)),
                o.ids[cardinality(o.ids)], '[]')),
            sum(CASE WHEN v_several THEN (SELECT sum(z)
                    FROM unnest(o.sizes[greatest(v_ticket - o.first, -1)::int + 2:]) z)
                ELSE o.past - 1 - greatest(v_ticket, o.first - 1) END)
        INTO v_ready, v_offered
        FROM (SELECT * FROM offer o WHERE o.queue_id = p_queue.queue_id AND o.several = v_several
              ORDER BY o.first DESC LIMIT {{OFFER_ROWS_MAX}}) o
        WHERE o.past > v_ticket + 1;
    END IF;
    -- Open transactions hold most of what is ready and was offered a moment ago. What was offered before
    -- was given back by a rollback; some below was committed late.
    IF p_now_ms >= v_before.front_ms + {{OFFER_FRONT_MS}} OR p_now_ms < v_before.front_ms THEN
        v_before.again := v_before.again_next;
        v_before.again_next := v_before.reach;
        v_before.front_ms := p_now_ms;
        v_last := NULL;
    END IF;
    IF v_before.reach IS NOT NULL THEN
        v_ready := v_ready * (int8multirange(int8range(v_before.reach, NULL, '()'))
            + CASE WHEN coalesce(v_last < v_before.again, true)
                THEN int8multirange(int8range(v_last, v_before.again, '(]')) ELSE '{}' END);
    END IF;
    v_tables := slipring.live_table_names(p_queue, p_state);
    v_limit := p_queue.in_flight_max - (slipring.items_count(p_queue.queue_id)).leased
        - p_state.leased - v_offered - {{IN_FLIGHT_NEAR}};
    IF v_several THEN
        SELECT * INTO v_ids, v_sizes FROM slipring.offer_parts(v_tables, p_state.lanes[1], v_ready,
            v_limit, v_part, v_rows * v_row);
    ELSE
        v_ids := slipring.offer_ids(v_tables, p_state.lanes[1], v_ready,
            least({{OFFER_MESSAGES_MAX}}, v_limit));
    END IF;
    v_last := v_ids[cardinality(v_ids)];
    IF cardinality(v_ids) >= (CASE WHEN v_several THEN {{OFFER_PARTS_MIN}}
        ELSE {{OFFER_MESSAGES_MIN}} END)
    THEN
        INSERT INTO slipring.offer
        SELECT pg_sequence_last_value('slipring.journal') % 3, p_queue.queue_id, f.first + r.at,
            f.first + r.past, p_now_ms,
            coalesce(v_before.front_ms, p_now_ms), v_tables,
            coalesce(slipring.offer_low(p_queue, p_state.generation_low), {{BIGINT_MAX}}),
            p_state.lanes[1],
            v_ready * int8multirange(int8range(v_ids[r.at], v_ids[r.past], '(]')),
            v_ids[r.at + 1:r.past],
            v_several, v_sizes[r.at + 1:r.past], greatest(v_before.reach, v_last),
            coalesce(v_before.again, {{BIGINT_MIN}}), coalesce(v_before.again_next, {{BIGINT_MIN}})
        FROM greatest(v_ticket + 1, v_before.past) AS f(first)
        CROSS JOIN LATERAL (SELECT a AS at, least(a + v_row, cardinality(v_ids)) AS past
            FROM generate_series(0, cardinality(v_ids) - 1, v_row) a) r;
    END IF;
EXCEPTION WHEN OTHERS THEN
    -- Receives go on without it.
    RAISE WARNING 'no messages of queue % are offered: %', p_queue.queue_id, SQLERRM;
END $$;
