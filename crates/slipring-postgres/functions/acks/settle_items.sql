-- Purpose: settles messages that have pictures, and refuses those that nobody holds.
-- Inputs:  as settle_log.
-- Lock:    the queue's lock; the leases' locks are tried.
-- Index:   item_picture_N_newest; see log_holds for what is not there.
-- Answers: every entry.
CREATE OR REPLACE FUNCTION slipring.settle_items(
    p_queue slipring.queue, p_target slipring.queue, p_now_ms bigint, p_ns int[],
    p_messages bigint[], p_fences bigint[], p_kinds text[], p_delays_ms bigint[],
    p_priorities bigint[], p_jitter float8[], p_reasons text[])
RETURNS TABLE (n int, outcome text, until_ms bigint, target int)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_row record;
    v_done bigint[] := '{}';
    v_dead bigint[] := '{}';
    v_moves slipring.move[] := '{}';
    v_dead_failures jsonb[] := '{}';
    v_failures jsonb;
BEGIN
    FOR v_row IN
        SELECT u.n, p_messages[u.n] AS message, i.id, i.fence = p_fences[u.n] AS newest,
            p_kinds[u.n] AS kind, i.state = 2 AS leased, i.turn, i.attempts,
            p_priorities[u.n] AS priority, i.failures, s.next, s.delay_ms
        FROM unnest(p_ns) AS u(n)
        LEFT JOIN LATERAL slipring.item_now(p_messages[u.n]) i
            ON i.queue_id = p_queue.queue_id
        CROSS JOIN LATERAL slipring.settle_next(p_queue, p_kinds[u.n], i.attempts,
            p_delays_ms[u.n], p_jitter[u.n]) s
    LOOP
        n := v_row.n;
        until_ms := NULL;
        target := NULL;
        outcome := CASE
            WHEN v_row.id IS NULL AND slipring.log_holds(p_queue, v_row.message,
                p_fences[v_row.n]) THEN 'undone'
            WHEN v_row.id IS NULL THEN 'gone'
            WHEN NOT v_row.newest THEN 'newer'
            WHEN v_row.kind = 'ack' AND NOT p_queue.fifo THEN 'done'
            WHEN NOT v_row.leased THEN 'ended'
            WHEN p_now_ms >= v_row.turn THEN 'late'
            WHEN v_row.kind = 'ack' THEN 'done'
            WHEN NOT slipring.lease_free(p_queue, p_fences[v_row.n], v_row.message)
                THEN 'acked'
            WHEN v_row.next = 'dead_letter' AND p_target.queue_id IS NULL THEN 'parked'
            WHEN v_row.next = 'dead_letter' THEN 'dead_lettered'
            ELSE v_row.next END;
        v_failures := NULL;
        IF (v_row.failures IS NOT NULL OR p_reasons[n] IS NOT NULL)
            AND v_row.kind NOT IN ('ack', 'hand_back') THEN
            v_failures := slipring.failures_with(v_row.failures, v_row.attempts, v_row.kind,
                p_reasons[n], p_now_ms);
        END IF;
        IF outcome IN ('ready', 'delayed', 'parked', 'dead_lettered')
            AND slipring.acked(v_row.id, p_fences[v_row.n]) THEN
            outcome := 'gone';
        ELSIF outcome = 'done' THEN
            v_done := v_done || v_row.id;
        ELSIF outcome = 'dead_lettered' THEN
            target := p_target.queue_id;
            v_dead := v_dead || v_row.id;
            v_dead_failures := array_append(v_dead_failures, v_failures);
        ELSIF outcome IN ('ready', 'delayed', 'parked') THEN
            IF outcome = 'delayed' THEN
                until_ms := p_now_ms + v_row.delay_ms;
            END IF;
            v_moves := v_moves || ROW(NULL, v_row.id,
                CASE outcome WHEN 'delayed' THEN 0 WHEN 'parked' THEN 3 ELSE 1 END, until_ms,
                CASE WHEN v_row.next <> 'dead_letter' THEN v_row.priority END,
                CASE WHEN v_row.kind = 'hand_back' THEN greatest(v_row.attempts - 1, 0) END,
                NULL, NULL, CASE WHEN v_row.kind = 'nack' AND outcome <> 'parked'
                    THEN v_row.delay_ms END, false, v_failures)::slipring.move;
        END IF;
        RETURN NEXT;
    END LOOP;
    PERFORM slipring.settle_items_apply(p_queue, p_target, v_done, v_dead, v_dead_failures,
        v_moves);
END $$;
