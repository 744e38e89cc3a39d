-- Purpose: how long background work may keep the lock of a queue: whether it is time to leave the
--          rest to the next turn.
-- Inputs:  p_began, when the turn began; p_bytes that it has written so far.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.turn_over(p_began timestamptz, p_bytes bigint DEFAULT 0)
RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT p_bytes >= {{TURN_BYTES_MAX}} OR clock_timestamp() >= p_began + interval '{{TURN_MS}} ms'
$$;
