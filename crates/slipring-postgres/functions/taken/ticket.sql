-- Purpose: the sequence of which receives by SQL draw their places in the offers of a queue.
-- Inputs:  p_queue; p_several, whether it is that of receives of several messages.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.ticket(p_queue int, p_several boolean)
RETURNS regclass LANGUAGE sql STABLE AS $$
    SELECT ('slipring.ticket_' || (2::bigint * p_queue + p_several::int) % {{TICKETS}})::regclass
$$;
