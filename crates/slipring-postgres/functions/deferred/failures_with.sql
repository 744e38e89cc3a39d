-- Purpose: what is kept of the failures of a message, with one more; the last five stay (S6.8).
-- Inputs:  p_failures as a picture has them, or null; which attempt failed; what ended it; the reason
--          or null; p_now_ms.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.failures_with(
    p_failures jsonb, p_attempt bigint, p_end text, p_reason text, p_now_ms bigint)
RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN jsonb_array_length(p_failures) >= 5 THEN p_failures - 0
            ELSE coalesce(p_failures, '[]') END
        || jsonb_strip_nulls(jsonb_build_object('attempt', p_attempt, 'at_ms', p_now_ms,
            'ended_by', p_end, 'reason', p_reason))
$$;
