-- Purpose: raises the error of a limit that would be passed (S12.2).
-- Inputs:  p_queue, the queue's name, or null; the limit's name and value; what was asked for;
--          p_index, the place of the message that is too much among several, from 0, or null;
--          p_load, the number of the load that it is about, or null.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.fail_limit(
    p_queue text, p_limit text, p_value bigint, p_asked bigint, p_index int DEFAULT NULL,
    p_load bigint DEFAULT NULL)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM slipring.fail('SR006',
        format('%s is %s, but %s was asked for', p_limit, p_value, p_asked),
        jsonb_strip_nulls(jsonb_build_object('limit', p_limit, 'limit_value', p_value, 'asked',
            p_asked, 'queue', p_queue, 'index', p_index, 'load', p_load)));
END $$;
