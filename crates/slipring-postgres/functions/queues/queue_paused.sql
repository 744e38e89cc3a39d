-- Purpose: whether a queue hands out nothing for now (S14.3).
-- Inputs:  p_queue; p_now_ms.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.queue_paused(p_queue slipring.queue, p_now_ms bigint)
RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT p_queue.paused OR coalesce(p_now_ms < p_queue.paused_until_ms, false)
$$;
