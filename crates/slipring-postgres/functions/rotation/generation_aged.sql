-- Purpose: whether a generation has been written for long enough. Where it began much later than now, the clock has
--          gone back since; a little later it did for a server whose clock is behind.
-- Inputs:  p_since_ms; p_now_ms; p_age_ms.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.generation_aged(p_since_ms bigint, p_now_ms bigint, p_age_ms bigint)
RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT p_now_ms >= p_since_ms + p_age_ms OR p_now_ms < p_since_ms - {{CLOCK_BACK_MS}}
$$;
