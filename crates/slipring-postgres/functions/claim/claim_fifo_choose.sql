-- Purpose: which messages one receive of a FIFO queue takes: all it may of one group before the next
--          (S7.7), the last try of a message alone (S11.3).
-- Inputs:  p_queue; p_most, at most how many; what open groups may give, in the order of the line:
--          p_names of the groups, p_attempts, p_sizes.
-- Lock:    none.
-- Index:   none.
-- Answers: their places among these.
CREATE OR REPLACE FUNCTION slipring.claim_fifo_choose(
    p_queue slipring.queue, p_most bigint, p_names text[], p_attempts bigint[], p_sizes int[])
RETURNS int[] LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_taken int[] := '{}';
    v_bytes bigint := 0;
    v_left_out text;
BEGIN
    FOR n IN 1..coalesce(cardinality(p_names), 0) LOOP
        EXIT WHEN cardinality(v_taken) >= p_most OR v_bytes >= {{CLAIM_BYTES_MAX}};
        CONTINUE WHEN p_names[n] = v_left_out;
        IF p_attempts[n] > 0 AND p_attempts[n] + 1 >= p_queue.max_attempts THEN
            IF v_taken = '{}' THEN
                RETURN ARRAY[n];
            END IF;
            v_left_out := p_names[n];
        ELSE
            v_taken := v_taken || n;
            v_bytes := v_bytes + p_sizes[n];
        END IF;
    END LOOP;
    RETURN v_taken;
END $$;
