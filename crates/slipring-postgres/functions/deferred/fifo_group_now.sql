-- Purpose: the newest picture of a group of a FIFO queue.
-- Inputs:  p_queue, p_name.
-- Lock:    the caller holds the queue's lock.
-- Index:   fifo_group_name, backwards, one step in each slot.
CREATE OR REPLACE FUNCTION slipring.fifo_group_now(p_queue int, p_name text)
RETURNS SETOF slipring.fifo_group LANGUAGE sql STABLE AS $$
    SELECT * FROM fifo_group g WHERE g.queue_id = p_queue AND g.name = p_name
    ORDER BY g.seq DESC LIMIT 1
$$;
