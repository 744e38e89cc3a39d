-- Purpose: the sequence in which transactions that take numbers for loads of a queue show themselves, see
--          load_show. LOAD_RESERVING sequences serve all queues.
-- Inputs:  p_queue.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.load_reserving(p_queue int)
RETURNS regclass LANGUAGE sql STABLE AS $$
    SELECT ('slipring.load_reserving_' || p_queue % {{LOAD_RESERVING}})::regclass
$$;
