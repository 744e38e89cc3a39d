-- Purpose: the sequence by which receives by SQL ask to hand out messages of a queue without its lock, see
--          taken_ask.
-- Inputs:  p_queue.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.taken_asked(p_queue int)
RETURNS regclass LANGUAGE sql STABLE AS $$
    SELECT ('slipring.taken_asked_' || p_queue % {{TAKEN_ASKED}})::regclass
$$;
