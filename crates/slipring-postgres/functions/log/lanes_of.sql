-- Purpose: the lanes of priorities in the log of a queue.
-- Inputs:  p_queue, p_priorities.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.lanes_of(p_queue slipring.queue, p_priorities bigint[])
RETURNS bigint[] LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF p_queue.lane_base = 0 THEN
        RETURN p_priorities;
    END IF;
    RETURN ARRAY(SELECT p_queue.lane_base + p FROM unnest(p_priorities) p);
END $$;
