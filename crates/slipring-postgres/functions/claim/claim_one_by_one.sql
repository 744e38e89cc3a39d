-- Purpose: store_claim where messages are answered one by one.
-- Inputs:  as store_claim, lease and session of each receive; p_ready and p_leased, how many
--          messages with pictures are ready and leased.
-- Lock:    the caller holds the queue's lock.
-- Index:   see the functions that it calls.
CREATE OR REPLACE FUNCTION slipring.claim_one_by_one(
    p_queue slipring.queue, p_state slipring.state, p_now_ms bigint, p_up_to int[],
    p_lease_ms bigint[], p_session boolean[], p_holder bigint, p_ready bigint, p_leased bigint)
RETURNS TABLE (demand int, id bigint, fence bigint, deadline_ms bigint, sent_ms bigint,
    priority bigint, attempts bigint, first_received_ms bigint, delay_ms bigint, lease_ms bigint,
    group_name text, dedup_id text, headers text, source text, body bytea, end_kind text)
LANGUAGE plpgsql AS $$
BEGIN
    IF p_queue.fifo THEN
        RETURN QUERY SELECT * FROM slipring.claim_fifo(p_queue, p_state, p_now_ms, p_up_to,
            p_lease_ms, p_session, p_holder);
    ELSIF p_ready > 0 THEN
        RETURN QUERY SELECT * FROM slipring.claim_mixed(p_queue, p_state, p_now_ms, p_up_to,
            p_lease_ms, p_session, p_holder, p_leased);
    ELSE
        RETURN QUERY SELECT * FROM slipring.claim_log(p_queue, p_state, p_now_ms, p_up_to,
            p_lease_ms, p_session, p_holder, p_leased);
    END IF;
END $$;
