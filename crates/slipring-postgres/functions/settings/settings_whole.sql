-- Purpose: whether a setting is a whole number in a range, written as one.
-- Inputs:  p_value; p_low and p_high.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.settings_whole(p_value jsonb, p_low bigint, p_high bigint)
RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(CASE WHEN jsonb_typeof(p_value) = 'number' AND p_value::text ~ '^[0-9]{1,19}$'
        THEN p_value::text::numeric BETWEEN p_low AND p_high END, false)
$$;
