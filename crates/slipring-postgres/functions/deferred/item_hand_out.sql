-- Purpose: leases messages that have pictures and answers them as deliveries.
-- Inputs:  p_ids; p_demands of each; by demand p_lease_ms and p_session; p_holder; p_fence, higher
--          than every fence of these messages and of the queue before; p_served and p_before as
--          item_set's.
-- Lock:    the queue's lock.
-- Index:   item_picture_N_newest, item_body_id; the indexes of item_picture grow.
CREATE OR REPLACE FUNCTION slipring.item_hand_out(
    p_queue slipring.queue, p_now_ms bigint, p_ids bigint[], p_demands int[], p_fence bigint,
    p_lease_ms bigint[], p_session boolean[], p_holder bigint, p_served bigint[] DEFAULT NULL,
    p_before bigint DEFAULT NULL)
RETURNS TABLE (demand int, id bigint, fence bigint, deadline_ms bigint, sent_ms bigint,
    priority bigint, attempts bigint, first_received_ms bigint, delay_ms bigint, lease_ms bigint,
    group_name text, dedup_id text, headers text, source text, body bytea, end_kind text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_last int := coalesce(cardinality(p_ids), 0);
    v_found int;
BEGIN
    PERFORM slipring.item_set(p_queue, p_ids, array_fill(2, ARRAY[v_last]),
        array_agg(p_now_ms + coalesce(p_lease_ms[u.demand + 1], i.lease_ms,
            p_queue.visibility_timeout_ms) ORDER BY u.n),
        NULL, array_agg(i.attempts + 1 ORDER BY u.n), array_fill(p_fence, ARRAY[v_last]), NULL,
        p_now_ms, array_agg(CASE WHEN p_session[u.demand + 1] THEN p_holder END ORDER BY u.n),
        p_served, p_before)
    FROM unnest(p_ids, p_demands) WITH ORDINALITY AS u(id, demand, n)
    CROSS JOIN LATERAL slipring.item_now(u.id) i;
    RETURN QUERY
    SELECT u.demand, i.id, i.fence, i.turn, i.sent_ms, i.priority, i.attempts,
        i.first_received_ms, i.delay_ms, i.lease_ms, b.group_name, b.dedup_id, b.headers,
        slipring.source_text(i.source, i.earlier), b.body, NULL::text
    FROM unnest(p_ids, p_demands) WITH ORDINALITY AS u(id, demand, n)
    CROSS JOIN LATERAL slipring.item_now(u.id) i
    CROSS JOIN LATERAL slipring.item_content(u.id) b ORDER BY u.n;
    GET DIAGNOSTICS v_found = ROW_COUNT;
    IF v_found < v_last THEN
        -- Else it would be leased again and again, and never be given.
        RAISE EXCEPTION USING ERRCODE = 'data_corrupted', MESSAGE = format(
            '%s of %s messages that are given have no body', v_last - v_found, v_last);
    END IF;
END $$;
