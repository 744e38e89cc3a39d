-- Purpose: how long a step of a rotation of all queues stands in line for one of them, see turn_wait: everybody's
--          tables grow meanwhile.
-- Inputs:  p_since, the sequence of the time since when the present generation is written; p_queue;
--          p_now_ms.
-- Lock:    none.
-- Index:   none.
-- Answers: milliseconds: a hundredth of how long it has been under way, from 50 to 2,000, so that a pass has time for
--          one or two long waits.
CREATE OR REPLACE FUNCTION slipring.rotation_wait(
    p_since regclass, p_queue int, p_now_ms bigint)
RETURNS int LANGUAGE sql VOLATILE AS $$
    SELECT slipring.turn_wait(p_queue, p_now_ms,
        least({{QUEUE_WAIT_MAX_MS}}, (p_now_ms - pg_sequence_last_value(p_since)) / 100))
$$;
