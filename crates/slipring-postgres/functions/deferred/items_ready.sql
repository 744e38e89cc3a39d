-- Purpose: whether messages with pictures are ready in a queue.
-- Inputs:  p_queue.
-- Lock:    the caller's snapshot.
-- Index:   tally_queue and tally_sum_newest, one step in each slot; see items_count where there are
--          such messages at all.
CREATE OR REPLACE FUNCTION slipring.items_ready(p_queue int)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (EXISTS (SELECT FROM tally t WHERE t.queue_id = p_queue)
            OR EXISTS (SELECT FROM tally_sum t WHERE t.queue_id = p_queue))
        AND (slipring.items_count(p_queue)).ready > 0;
END $$;
