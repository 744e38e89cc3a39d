-- Purpose: settles messages that are in their first hands, in leases of the log.
-- Inputs:  p_target, the dead-letter queue or null; p_ns, which of the entries to look at, no
--          message twice; the rest as store_settle.
-- Lock:    the queue's lock; the leases' locks are tried.
-- Index:   see lease_find; the partitions' order indexes for what stays.
-- Answers: the entries that a lease of the log covers, done with or refused.
CREATE OR REPLACE FUNCTION slipring.settle_log(
    p_queue slipring.queue, p_target slipring.queue, p_now_ms bigint, p_ns int[],
    p_messages bigint[], p_fences bigint[], p_kinds text[], p_delays_ms bigint[],
    p_priorities bigint[], p_jitter float8[], p_reasons text[])
RETURNS TABLE (n int, outcome text, until_ms bigint, target int)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_messages bigint[] := ARRAY(SELECT p_messages[u.n]
        FROM unnest(p_ns) WITH ORDINALITY AS u(n, o) ORDER BY u.o);
    v_held bigint[] := ARRAY(SELECT p_fences[u.n]
        FROM unnest(p_ns) WITH ORDINALITY AS u(n, o) ORDER BY u.o);
    v_row record;
    v_moves slipring.move[] := '{}';
    v_ids bigint[] := '{}';
    v_fences bigint[] := '{}';
BEGIN
    FOR v_row IN
        SELECT l.n, l.message AS id, l.fence, p_kinds[l.n] AS kind,
            p_priorities[l.n] AS priority, l.lane, l.leased_ms,
            CASE WHEN p_kinds[l.n] = 'ack' THEN NULL WHEN p_now_ms >= l.deadline_ms THEN 'late'
                WHEN NOT slipring.lease_free(p_queue, l.fence, l.message)
                THEN 'acked' END AS lost, s.next, s.delay_ms
        FROM (SELECT p_ns[l.n] AS n, l.message, l.fence, l.lane, l.deadline_ms, l.leased_ms
              FROM slipring.lease_find(p_queue.queue_id, v_messages, v_held) l
              WHERE l.lane IS NOT NULL ORDER BY l.n) l
        CROSS JOIN LATERAL slipring.settle_next(p_queue, p_kinds[l.n], 1, p_delays_ms[l.n],
            p_jitter[l.n]) s
    LOOP
        n := v_row.n;
        until_ms := NULL;
        target := NULL;
        IF v_row.lost IS NOT NULL THEN
            outcome := v_row.lost;
            RETURN NEXT;
            CONTINUE;
        ELSIF v_row.kind <> 'ack' AND slipring.acked(v_row.id, v_row.fence) THEN
            outcome := 'gone';
            RETURN NEXT;
            CONTINUE;
        END IF;
        v_ids := v_ids || v_row.id;
        v_fences := v_fences || v_row.fence;
        outcome := v_row.next;
        IF outcome = 'delayed' THEN
            until_ms := p_now_ms + v_row.delay_ms;
        ELSIF outcome = 'dead_letter' THEN
            target := p_target.queue_id;
            outcome := CASE WHEN target IS NULL THEN 'parked' ELSE 'dead_lettered' END;
        END IF;
        IF outcome <> 'done' THEN
            v_moves := v_moves || ROW(v_row.lane, v_row.id,
                CASE outcome WHEN 'delayed' THEN 0 WHEN 'parked' THEN 3 ELSE 1 END, until_ms,
                CASE WHEN v_row.next <> 'dead_letter' THEN v_row.priority END,
                CASE WHEN outcome = 'dead_lettered' OR v_row.kind = 'hand_back' THEN 0
                    ELSE 1 END, v_row.fence,
                CASE WHEN outcome <> 'dead_lettered' THEN v_row.leased_ms END, v_row.delay_ms,
                outcome = 'dead_lettered', CASE WHEN p_reasons[v_row.n] IS NOT NULL THEN
                    -- A delivery out of the log is the first.
                    slipring.failures_with(NULL, 1, v_row.kind, p_reasons[v_row.n], p_now_ms)
                END)::slipring.move;
        END IF;
        RETURN NEXT;
    END LOOP;
    IF v_ids <> '{}' THEN
        PERFORM slipring.settle_log_apply(p_queue, slipring.state_read(p_queue), p_target, v_ids,
            v_fences, v_moves);
    END IF;
END $$;
