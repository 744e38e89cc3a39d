-- Purpose: checks how many messages, or parts of a load, a call by SQL asks for.
-- Inputs:  p_limit, the name of the limit; p_most; p_n; for the error: p_queue, the queue's name,
--          p_argument, what the caller calls it, and p_load, or null.
-- Lock:    none.
-- Index:   none.
-- Answers: p_n, from 1 to p_most.
CREATE OR REPLACE FUNCTION slipring.count_check(
    p_limit text, p_most int, p_n int, p_queue text DEFAULT NULL, p_argument text DEFAULT 'n',
    p_load bigint DEFAULT NULL)
RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    IF p_n > p_most THEN
        PERFORM slipring.fail_limit(p_queue, p_limit, p_most, p_n, p_load => p_load);
    ELSIF p_n IS NULL OR p_n < 1 THEN
        PERFORM slipring.fail('SR007', format('%s is %s; give 1 to %s', p_argument,
            coalesce(p_n::text, 'null'), p_most), jsonb_strip_nulls(jsonb_build_object('asked', p_n,
            'queue', p_queue, 'load', p_load)));
    END IF;
    RETURN p_n;
END $$;
