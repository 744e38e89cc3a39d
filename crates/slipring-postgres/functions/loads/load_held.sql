-- Purpose: the numbers that the open loads of a queue have taken out of its lanes.
-- Inputs:  p_queue.
-- Lock:    the caller holds the queue's lock where it writes the state.
-- Index:   load_queue, load_block_pkey.
CREATE OR REPLACE FUNCTION slipring.load_held(p_queue int)
RETURNS int8multirange LANGUAGE sql STABLE AS $$
    SELECT coalesce(range_agg(int8range(b.base, b.base + {{XID_NUMBERS}})), '{}')
    FROM slipring.load l JOIN slipring.load_block b ON b.load_id = l.load_id
    WHERE l.queue_id = p_queue
$$;
