-- Purpose: the turn of a picture that is ready or parked: the priority, and of one that is ready its
--          standing times 2^32: 0 untried, 1 with one to three attempts, 2 with more (S11.1). Of FIFO
--          queues 0.
-- Inputs:  p_fifo of its queue; its state, attempts and priority.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.item_turn(
    p_fifo boolean, p_state int, p_attempts bigint, p_priority bigint)
RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_fifo THEN 0
        WHEN p_state <> 1 OR p_attempts = 0 THEN p_priority
        WHEN p_attempts <= 3 THEN p_priority + {{TURN_TRIED}}
        ELSE p_priority + {{TURN_FAILING}} END
$$;
