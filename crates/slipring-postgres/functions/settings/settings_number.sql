-- Purpose: a number of a queue's settings, null where it is not set; larger ones than a bigint
--          holds become the largest.
-- Inputs:  p_settings, p_name.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.settings_number(p_settings jsonb, p_name text)
RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_settings ->> p_name IS NOT NULL
        THEN least((p_settings ->> p_name)::numeric, {{BIGINT_MAX}})::bigint END
$$;
