-- Purpose: checks how many messages a call by SQL asks for.
-- Inputs:  p_limit, the name of the limit; p_most; p_n; p_queue, the queue's name, for the error.
-- Lock:    none.
-- Index:   none.
-- Answers: p_n, from 1 to p_most.
CREATE OR REPLACE FUNCTION slipring.count_check(
    p_limit text, p_most int, p_n int, p_queue text DEFAULT NULL)
RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    IF p_n > p_most THEN
        PERFORM slipring.fail_limit(p_queue, p_limit, p_most, p_n);
    ELSIF p_n IS NULL OR p_n < 1 THEN
        PERFORM slipring.fail('SR007', format('n is %s; give 1 to %s', coalesce(p_n::text, 'null'),
            p_most), jsonb_strip_nulls(jsonb_build_object('asked', p_n, 'queue', p_queue)));
    END IF;
    RETURN p_n;
END $$;
