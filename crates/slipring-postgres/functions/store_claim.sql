-- Purpose: hands out ready messages to receives in their order (S7).
-- Inputs:  p_queue; p_now_ms; one entry for each receive: at most how many, lease or null, whether
--          the lease ends with the process; p_holder, the process.
-- Lock:    the queue's lock.
-- Index:   queue_pkey, state_newest, tally_queue, the partitions' order indexes, item_order.
-- Answers: rows in order of receives and hand-out, and one row that says why there are no more.
CREATE OR REPLACE FUNCTION slipring.store_claim(
    p_queue int, p_now_ms bigint, p_up_to int[], p_lease_ms bigint[], p_session boolean[],
    p_holder bigint)
RETURNS TABLE (demand int, id bigint, fence bigint, deadline_ms bigint, sent_ms bigint,
    priority bigint, attempts bigint, first_received_ms bigint, delay_ms bigint, lease_ms bigint,
    group_name text, dedup_id text, headers text, source text, body bytea, end_kind text)
LANGUAGE plpgsql
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    v_queue slipring.queue := slipring.queue_lock(p_queue);
    v_state slipring.state := slipring.state_read(v_queue);
    v_ready bigint;
    v_leased bigint;
BEGIN
    v_state := slipring.acks_take(v_queue, v_state, p_now_ms);
    IF v_queue.paused OR p_now_ms < v_queue.paused_until_ms THEN
        end_kind := 'paused';
        demand := 0;
        RETURN NEXT;
        RETURN;
    END IF;
    SELECT coalesce(sum(t.ready), 0), coalesce(sum(t.leased), 0) INTO v_ready, v_leased
    FROM slipring.tally t WHERE t.queue_id = p_queue;
    IF v_queue.fifo THEN
        RETURN QUERY SELECT * FROM slipring.claim_fifo(v_queue, v_state, p_now_ms, p_up_to,
            p_lease_ms, p_session, p_holder);
    ELSIF v_ready > 0 THEN
        RETURN QUERY SELECT * FROM slipring.claim_mixed(v_queue, v_state, p_now_ms, p_up_to,
            p_lease_ms, p_session, p_holder, v_leased);
    ELSE
        RETURN QUERY SELECT * FROM slipring.claim_log(v_queue, v_state, p_now_ms, p_up_to,
            p_lease_ms, p_session, p_holder, v_leased);
    END IF;
END $$;
