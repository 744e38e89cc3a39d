-- Purpose: settlements other than acks of leases of the log, in rounds, so that several entries of
--          one message take effect one after the other.
-- Inputs:  as store_settle, with the queue.
-- Lock:    the caller holds the queue's lock; see store_settle.
-- Index:   see settle_log and settle_items.
CREATE OR REPLACE FUNCTION slipring.settle_others(
    p_queue slipring.queue, p_state slipring.state, p_now_ms bigint, p_messages bigint[],
    p_fences bigint[], p_kinds text[], p_delays_ms bigint[], p_priorities bigint[],
    p_jitter float8[], p_reasons text[])
RETURNS TABLE (n int, outcome text, until_ms bigint, target int, error text,
    error_message text, error_context jsonb)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_target slipring.queue := slipring.dead_letter_queue(p_queue);
    v_turns int[] := '{1}';
    v_rounds int := 1;
    v_round int[] := '{1}';
    v_done int[];
    v_row record;
BEGIN
    IF cardinality(p_messages) = 1 AND EXISTS (SELECT FROM slipring.item_now(p_messages[1])) THEN
        -- What has a picture is in no lease of the log.
        RETURN QUERY SELECT r.* FROM slipring.settle_items(p_queue, v_target, p_now_ms, v_round,
            p_messages, p_fences, p_kinds, p_delays_ms, p_priorities, p_jitter,
            p_reasons) s
        CROSS JOIN LATERAL slipring.settled(p_messages[1], s.n, s.outcome, s.until_ms,
            s.target) r;
        RETURN;
    ELSIF cardinality(p_messages) > 1 THEN
        PERFORM slipring.locks_fit(p_queue, p_messages, p_fences, p_kinds);
        v_turns := ARRAY(SELECT row_number() OVER (PARTITION BY u.message ORDER BY u.n)
            FROM unnest(p_messages) WITH ORDINALITY AS u(message, n) ORDER BY u.n);
        v_rounds := (SELECT max(t) FROM unnest(v_turns) t);
    END IF;
    FOR v_turn IN 1..v_rounds LOOP
        v_round := ARRAY(SELECT o::int FROM unnest(v_turns) WITH ORDINALITY AS u(t, o)
            WHERE t = v_turn ORDER BY o);
        v_done := '{}';
        FOR v_row IN SELECT * FROM slipring.settle_log(p_queue, v_target, p_now_ms, v_round,
            p_messages, p_fences, p_kinds, p_delays_ms, p_priorities, p_jitter,
            p_reasons) LOOP
            v_done := v_done || v_row.n;
            RETURN QUERY SELECT * FROM slipring.settled(p_messages[v_row.n], v_row.n,
                v_row.outcome, v_row.until_ms, v_row.target);
        END LOOP;
        IF cardinality(v_done) < cardinality(v_round) THEN
            FOR v_row IN SELECT * FROM slipring.settle_items(p_queue, v_target, p_now_ms,
                ARRAY(SELECT unnest(v_round) EXCEPT SELECT unnest(v_done) ORDER BY 1),
                p_messages, p_fences, p_kinds, p_delays_ms, p_priorities, p_jitter,
            p_reasons) LOOP
                RETURN QUERY SELECT * FROM slipring.settled(p_messages[v_row.n], v_row.n,
                    v_row.outcome, v_row.until_ms, v_row.target);
            END LOOP;
        END IF;
    END LOOP;
END $$;
