-- Purpose: the sequence that taken_ask moves for a queue. TAKEN_ASKED sequences serve all queues.
-- Inputs:  p_queue.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.taken_asked(p_queue int)
RETURNS regclass LANGUAGE sql STABLE AS $$
    SELECT ('slipring.taken_asked_' || p_queue % {{TAKEN_ASKED}})::regclass
$$;
