-- Purpose: hands out ready messages to receives in their order (S7).
-- Inputs:  p_queue; p_now_ms; p_up_to of each receive; lease or null, and whether it ends with the
--          process: of each receive, or one for all; p_holder, the process; p_waited_ms in earlier
--          tries, see waited_ms.
-- Lock:    the queue's lock.
-- Index:   queue_pkey, state_newest, tally_sum_newest, the partitions' order
--          indexes, see items_first.
-- Answers: rows in order of receives and hand-out, and one row that says why there are no more. A
--          row with ids is several messages in hand-out order, to be dealt to the receives in
--          their order; arrays that would have nothing but nulls are null. Where ns has a number,
--          id and body are those of a pack of so many, see message; of it, counts messages from
--          firsts on are given. A row with place is dealt likewise, when so many messages have been
--          dealt before it.
CREATE OR REPLACE FUNCTION slipring.store_claim(
    p_queue int, p_now_ms bigint, p_up_to int[], p_lease_ms bigint[], p_session boolean[],
    p_holder bigint, p_waited_ms bigint DEFAULT 0)
RETURNS TABLE (demand int, id bigint, fence bigint, deadline_ms bigint, sent_ms bigint,
    priority bigint, attempts bigint, first_received_ms bigint, delay_ms bigint, lease_ms bigint,
    group_name text, dedup_id text, headers text, source text, body bytea, end_kind text,
    ids bigint[], sents_ms bigint[], bodies bytea[], groups text[], dedup_ids text[],
    headers_each text[], ns int[], firsts bigint[], counts int[], place bigint)
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
SET search_path = pg_catalog, slipring, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_began timestamptz := clock_timestamp();
    v_queue slipring.queue := slipring.queue_lock(p_queue);
    v_state slipring.state := slipring.state_read(v_queue);
    v_demands int := cardinality(p_up_to);
    v_up_to bigint;
    v_others boolean;
    v_differences bigint;
    v_ready bigint := 0;
    v_leased bigint := 0;
BEGIN
    p_now_ms := p_now_ms + slipring.waited_ms(v_began, p_waited_ms);
    v_state := slipring.acks_take(v_queue, v_state, p_now_ms, {{ACKS_STEP}});
    IF slipring.queue_paused(v_queue, p_now_ms) THEN
        end_kind := 'paused';
        demand := 0;
        RETURN NEXT;
        RETURN;
    END IF;
    SELECT sum(greatest(u, 1)),
        EXISTS (SELECT FROM tally t WHERE t.queue_id = p_queue)
            OR EXISTS (SELECT FROM tally_sum s WHERE s.queue_id = p_queue)
    INTO v_up_to, v_others FROM unnest(p_up_to) u;
    IF v_state.taken IS NOT NULL AND NOT v_queue.fifo THEN
        -- One more than may be given, which tells whether there are more.
        v_state := slipring.taken_apart(v_queue, v_up_to + 1, true);
    END IF;
    IF v_others THEN
        SELECT t.ready, t.leased, t.differences INTO v_ready, v_leased, v_differences
        FROM slipring.items_count(p_queue) t;
        IF v_differences >= {{TALLY_FOLD_CLAIM}} THEN
            -- Of senders with delays, where nothing is due yet.
            PERFORM slipring.tally_fold(v_queue);
        END IF;
    END IF;
    IF p_holder IS NULL THEN
        -- A user's transaction may take its hand-outs back, with the state that has their fences. The
        -- sequence that state_write moved stays, so the next ones are others, also while the clock stands.
        v_state.fence := greatest(v_state.fence, slipring.fence_least(p_now_ms))
            + (1 + pg_sequence_last_value(v_queue.activity) % {{FENCE_TRIES}}) * {{FENCE_TRY}};
    END IF;
    IF cardinality(p_lease_ms) = 1 AND NOT v_queue.fifo
        AND v_up_to <= v_queue.in_flight_max - v_state.leased - v_leased THEN
        IF v_ready > 0 THEN
            RETURN QUERY SELECT * FROM slipring.claim_beside(v_queue, v_state, p_now_ms, p_up_to,
                p_lease_ms, p_session, p_holder, v_ready, v_differences);
        ELSE
            RETURN QUERY SELECT NULL::int, NULL::bigint, c.fence, c.deadline_ms, NULL::bigint,
                c.priority, 1::bigint, p_now_ms, 0::bigint, c.lease_ms, NULL::text, NULL::text,
                NULL::text, NULL::text, NULL::bytea, c.end_kind, c.ids, c.sents_ms, c.bodies,
                c.groups, c.dedup_ids, c.headers_each, c.ns, c.firsts, c.counts, NULL::bigint
            FROM slipring.claim_plain(v_queue, v_state, p_now_ms, v_up_to, p_lease_ms[1],
                CASE WHEN p_session[1] THEN p_holder END) c;
        END IF;
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;
    RETURN QUERY SELECT c.*, NULL::bigint[], NULL::bigint[], NULL::bytea[], NULL::text[],
        NULL::text[], NULL::text[], NULL::int[], NULL::bigint[], NULL::int[], NULL::bigint
    FROM slipring.claim_one_by_one(v_queue, v_state, p_now_ms, p_up_to,
        CASE WHEN cardinality(p_lease_ms) < v_demands
            THEN array_fill(p_lease_ms[1], ARRAY[v_demands]) ELSE p_lease_ms END,
        CASE WHEN cardinality(p_session) < v_demands
            THEN array_fill(p_session[1], ARRAY[v_demands]) ELSE p_session END,
        p_holder, v_ready, v_leased) c;
END $$;
