-- Purpose: ends leases (S3), entry by entry (S9.3).
-- Inputs:  p_queue; p_now_ms; one entry for each: message, fence, kind (ack, nack, hand_back, park,
--          dead_letter), delay or null, new priority or null, jitter from 0 to 1; p_reasons, each of
--          at most 4 KiB or null, is null where there are none. Beside them runs of acks of other
--          messages as store_ack's: p_lows, p_highs, p_run_fences.
-- Lock:    the queue's lock; for all but acks the locks of the leases, which are refused when an
--          ack of the same lease is in a user's open transaction.
-- Index:   queue_pkey, state_newest, lease_newest; item_picture_N_newest for what no lease
--          of the log covers.
-- Answers: an answer to each entry. Where the runs cannot be acked all at once, nothing is done and
--          nothing answered, and each of their messages has to be an entry.
CREATE OR REPLACE FUNCTION slipring.store_settle(
    p_queue int, p_now_ms bigint, p_messages bigint[], p_fences bigint[], p_kinds text[],
    p_delays_ms bigint[], p_priorities bigint[], p_jitter float8[], p_lows bigint[] DEFAULT '{}',
    p_highs bigint[] DEFAULT '{}', p_run_fences bigint[] DEFAULT '{}',
    p_reasons text[] DEFAULT NULL)
RETURNS TABLE (ord int, outcome text, until_ms bigint, target int, error text,
    error_message text, error_context jsonb)
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
SET search_path = pg_catalog, slipring, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_queue slipring.queue := slipring.queue_lock(p_queue, false);
    v_state slipring.state;
    v_answer record;
    v_last int := cardinality(p_messages);
BEGIN
    IF v_queue.queue_id IS NULL AND p_lows <> '{}' THEN
        RETURN;
    ELSIF v_queue.queue_id IS NULL THEN
        RETURN QUERY SELECT n, NULL::text, NULL::bigint, NULL::int, 'message_gone'::text,
            format('message %s is not in the queue any more', p_messages[n]),
            jsonb_build_object('message', p_messages[n])
        FROM generate_series(1, v_last) n;
        RETURN;
    END IF;
    v_state := slipring.acks_take(v_queue, slipring.state_read(v_queue), p_now_ms);
    IF p_lows <> '{}' THEN
        v_state.seq := v_state.seq + 1;
        v_answer := slipring.lease_ack_runs(v_queue, v_state, p_lows, p_highs, p_run_fences);
        IF NOT v_answer.done THEN
            RETURN;
        END IF;
        v_state := v_answer.p_state;
        PERFORM slipring.state_write(v_queue, v_state);
    END IF;
    IF 'ack' = ALL (p_kinds) THEN
        v_state.seq := v_state.seq + 1;
        v_answer := slipring.lease_ack(v_queue, v_state, p_messages, p_fences);
        IF cardinality(v_answer.rest) < v_last THEN
            PERFORM slipring.state_write(v_queue, v_answer.p_state);
            v_state := v_answer.p_state;
        END IF;
        IF v_answer.rest = '{}' THEN
            RETURN QUERY SELECT n, 'done'::text, NULL::bigint, NULL::int, NULL::text, NULL::text,
                NULL::jsonb
            FROM generate_series(1, v_last) n;
            RETURN;
        END IF;
        RETURN QUERY SELECT n, 'done'::text, NULL::bigint, NULL::int, NULL::text, NULL::text,
            NULL::jsonb
        FROM generate_series(1, v_last) n WHERE n <> ALL (v_answer.rest);
        RETURN QUERY SELECT v_answer.rest[s.n], s.outcome, s.until_ms, s.target, s.error,
            s.error_message, s.error_context
        FROM slipring.settle_others(v_queue, v_state, p_now_ms,
            ARRAY(SELECT p_messages[n] FROM unnest(v_answer.rest) WITH ORDINALITY u(n, o)
                  ORDER BY o),
            ARRAY(SELECT p_fences[n] FROM unnest(v_answer.rest) WITH ORDINALITY u(n, o)
                  ORDER BY o),
            array_fill('ack'::text, ARRAY[cardinality(v_answer.rest)]),
            NULL, NULL, NULL, NULL) s;
        RETURN;
    END IF;
    RETURN QUERY SELECT s.n, s.outcome, s.until_ms, s.target, s.error, s.error_message,
        s.error_context
    FROM slipring.settle_others(v_queue, v_state, p_now_ms, p_messages, p_fences, p_kinds,
        p_delays_ms, p_priorities, p_jitter, p_reasons) s;
END $$;
