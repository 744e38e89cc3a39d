-- Purpose: what every fence that is given now is above. A hand-out is not flushed, and a database
--          that was killed, or a standby that took over, may have forgotten it together with its
--          fence. No fence is below the time it was given, nor the same on two timelines where
--          clocks differ, so none is given twice (S3.2).
-- Inputs:  p_now_ms.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.fence_least(p_now_ms bigint)
RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT (p_now_ms << {{FENCE_SHIFT}}) | (slipring.timeline() << ({{FENCE_SHIFT}} - 3))
$$;
