-- Purpose: the sequence of which receives by SQL draw their places in the offers of a queue.
-- Inputs:  p_queue.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.ticket(p_queue int)
RETURNS regclass LANGUAGE sql STABLE AS $$
    SELECT ('slipring.ticket_' || p_queue % {{TICKETS}})::regclass
$$;
