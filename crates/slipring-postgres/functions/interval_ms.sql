-- Purpose: an interval in milliseconds, rounded up so that nothing ends early; null stays null.
-- Inputs:  p_interval; p_name for the error when it is negative or longer than 2^32 seconds.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.interval_ms(p_interval interval, p_name text)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_seconds numeric := extract(epoch FROM p_interval);
BEGIN
    IF v_seconds < 0 THEN
        PERFORM slipring.fail('SR007', format('%s is negative; give 0 or more', p_name),
            jsonb_build_object('asked', p_interval));
    ELSIF v_seconds > 4294967296 THEN
        PERFORM slipring.fail('SR006', format('duration_seconds_max is 4294967296, but %s was '
            'asked for', v_seconds), jsonb_build_object('limit', 'duration_seconds_max',
            'limit_value', 4294967296, 'asked', v_seconds));
    END IF;
    RETURN ceil(v_seconds * 1000)::bigint;
END $$;
