-- Purpose: whether a unit of messages fits the limits of its queue.
-- Inputs:  p_first to p_last, the places of the unit's messages in the arrays; what the queue
--          holds with the units before: p_total, p_bytes, and p_keys, their deduplication ids.
-- Lock:    the caller holds the queue's lock, or knows that the answer may not stay right.
-- Index:   dedup_N_once, one step for each deduplication id.
-- Answers: the same with the unit, and the facts of the error where it does not fit.
CREATE OR REPLACE FUNCTION slipring.append_fits(
    p_queue slipring.queue, p_now_ms bigint, p_first int, p_last int, p_bodies bytea[],
    p_groups text[], p_dedup_ids text[], p_headers text[], INOUT p_total bigint,
    INOUT p_bytes bigint, INOUT p_keys text[], OUT p_over jsonb)
LANGUAGE plpgsql AS $$
DECLARE
    v_slots int[] := slipring.dedup_slots();
    v_scope text;
    v_key text;
    v_limit text;
    v_value bigint;
    v_asked bigint;
BEGIN
    FOR n IN p_first..p_last LOOP
        IF p_dedup_ids[n] IS NOT NULL AND p_queue.dedup_window_ms > 0 THEN
            v_scope := slipring.dedup_scope(p_queue.dedup_by_group, p_groups[n]);
            v_key := length(v_scope) || v_scope || p_dedup_ids[n];
            CONTINUE WHEN v_key = ANY (p_keys) OR EXISTS (
                SELECT FROM slipring.dedup_newest(p_queue.queue_id, v_scope, p_dedup_ids[n],
                    v_slots[cardinality(v_slots)]) d WHERE d.until_ms > p_now_ms);
            p_keys := p_keys || v_key;
        END IF;
        p_total := p_total + 1;
        p_bytes := p_bytes + octet_length(p_bodies[n]) + slipring.headers_bytes(p_headers[n])
            + coalesce(octet_length(p_groups[n]), 0) + coalesce(octet_length(p_dedup_ids[n]), 0);
        IF p_total > p_queue.messages_max THEN
            v_limit := 'messages_max';
            v_value := p_queue.messages_max;
            v_asked := p_total;
        ELSIF p_bytes > p_queue.bytes_max THEN
            v_limit := 'bytes_max';
            v_value := p_queue.bytes_max;
            v_asked := p_bytes;
        ELSE
            CONTINUE;
        END IF;
        p_over := jsonb_build_object('limit', v_limit, 'limit_value', v_value, 'asked', v_asked,
            'index', n - p_first, 'queue', p_queue.name);
        RETURN;
    END LOOP;
END $$;
