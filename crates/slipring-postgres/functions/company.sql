-- Purpose: how many messages a receive of at most p_up_to may get when one of them has failed
--          p_attempts times (S11.2).
-- Inputs:  p_queue, p_attempts, p_up_to.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.company(
    p_queue slipring.queue, p_attempts bigint, p_up_to bigint)
RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF p_attempts = 0 THEN
        RETURN greatest(p_up_to, 1);
    ELSIF p_attempts + 1 >= p_queue.max_attempts OR p_attempts >= 32 THEN
        RETURN 1;
    END IF;
    RETURN greatest(p_up_to >> p_attempts::int, 1);
END $$;
