-- Purpose: whether the backoff of a queue that is given by SQL is one that programs can read (S6.5).
-- Inputs:  p_backoff.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.settings_backoff(p_backoff jsonb)
RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(CASE p_backoff -> 'kind'
        WHEN '"none"' THEN true
        WHEN '"fixed"' THEN slipring.settings_whole(p_backoff -> 'delay_ms', 0, {{DURATION_MS_MAX}})
        WHEN '"exponential"' THEN
            slipring.settings_whole(p_backoff -> 'max_ms', 0, {{DURATION_MS_MAX}})
            AND slipring.settings_whole(p_backoff -> 'base_ms', 0,
                CASE WHEN slipring.settings_whole(p_backoff -> 'max_ms', 0, {{DURATION_MS_MAX}})
                    THEN (p_backoff ->> 'max_ms')::bigint END) END, false)
        AND slipring.settings_backoff_other(p_backoff) IS NULL
$$;
