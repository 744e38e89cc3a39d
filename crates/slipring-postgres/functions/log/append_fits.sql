-- Purpose: whether a unit of messages fits the limits of its queue.
-- Inputs:  p_before, the number before the first message of the call; p_first to p_last, the places
--          of the unit's messages in the arrays; p_firsts, see dedup_enter, or null; what the queue
--          holds with the units before: p_total, p_bytes, and p_entered, the numbers of theirs that
--          have a deduplication id.
-- Lock:    the caller holds the queue's lock, or knows that the answer may not stay right.
-- Index:   none.
-- Answers: the same with the unit, and the facts of the error where it does not fit.
CREATE OR REPLACE FUNCTION slipring.append_fits(
    p_queue slipring.queue, p_before bigint, p_first int, p_last int, p_bodies bytea[],
    p_groups text[], p_dedup_ids text[], p_headers text[], p_firsts bigint[],
    INOUT p_total bigint, INOUT p_bytes bigint, INOUT p_entered bigint[], OUT p_over jsonb)
LANGUAGE plpgsql AS $$
DECLARE
    v_limit text;
    v_value bigint;
    v_asked bigint;
BEGIN
    FOR n IN p_first..p_last LOOP
        IF p_firsts[n] IS NOT NULL THEN
            CONTINUE WHEN p_firsts[n] <= p_before OR p_firsts[n] > p_before + cardinality(p_bodies)
                OR p_firsts[n] = ANY (p_entered);
            p_entered := p_entered || p_firsts[n];
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
