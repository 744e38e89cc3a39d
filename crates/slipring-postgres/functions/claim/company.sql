-- Purpose: how many messages a receive of at most p_up_to may get when one of them has failed
--          p_attempts times: fewer as the tries of a queue with max_attempts run out, one when it is
--          the last (S11.2).
-- Inputs:  p_queue, p_attempts, p_up_to.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.company(
    p_queue slipring.queue, p_attempts bigint, p_up_to bigint)
RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_left bigint := p_queue.max_attempts - p_attempts;
BEGIN
    p_up_to := greatest(p_up_to, 1);
    IF p_attempts = 0 OR v_left IS NULL OR v_left > 32 THEN
        RETURN p_up_to;
    ELSIF v_left <= 1 THEN
        RETURN 1;
    END IF;
    RETURN least(greatest(p_up_to >> least(p_attempts, 32)::int, 1::bigint << (v_left - 1)::int),
        p_up_to);
END $$;
