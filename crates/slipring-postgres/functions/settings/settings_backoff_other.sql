-- Purpose: what to do about keys of a backoff that its kind does not have, for the error.
-- Inputs:  p_backoff.
-- Lock:    none.
-- Index:   none.
-- Answers: null where there are none, or it is of no kind.
CREATE OR REPLACE FUNCTION slipring.settings_backoff_other(p_backoff jsonb)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT format('no %s with the kind %s', string_agg(slipring.name_shown(k), ', ' ORDER BY k),
        p_backoff -> 'kind')
    FROM jsonb_object_keys(CASE jsonb_typeof(p_backoff) WHEN 'object' THEN p_backoff
        - CASE p_backoff -> 'kind' WHEN '"none"' THEN '{kind}'
            WHEN '"fixed"' THEN '{kind, delay_ms}'
            WHEN '"exponential"' THEN '{kind, base_ms, max_ms}' END::text[] END) k
    HAVING count(*) > 0
$$;
