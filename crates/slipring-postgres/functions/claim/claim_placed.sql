-- Purpose: leases messages that have pictures and answers them with their places in a claim.
-- Inputs:  p_ids and p_places; p_fence, p_lease_ms, p_session and p_holder as item_hand_out's, the
--          same terms for all.
-- Lock:    the queue's lock.
-- Index:   see item_hand_out.
-- Answers: see store_claim.
CREATE OR REPLACE FUNCTION slipring.claim_placed(
    p_queue slipring.queue, p_now_ms bigint, p_ids bigint[], p_places bigint[], p_fence bigint,
    p_lease_ms bigint[], p_session boolean[], p_holder bigint)
RETURNS TABLE (demand int, id bigint, fence bigint, deadline_ms bigint, sent_ms bigint,
    priority bigint, attempts bigint, first_received_ms bigint, delay_ms bigint, lease_ms bigint,
    group_name text, dedup_id text, headers text, source text, body bytea, end_kind text,
    ids bigint[], sents_ms bigint[], bodies bytea[], groups text[], dedup_ids text[],
    headers_each text[], ns int[], firsts bigint[], counts int[], place bigint)
LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT i.*, NULL::bigint[], NULL::bigint[], NULL::bytea[], NULL::text[],
        NULL::text[], NULL::text[], NULL::int[], NULL::bigint[], NULL::int[],
        p_places[row_number() OVER ()]
    FROM slipring.item_hand_out(p_queue, p_now_ms, p_ids,
        array_fill(0, ARRAY[cardinality(p_ids)]), p_fence, p_lease_ms, p_session, p_holder) i;
END $$;
