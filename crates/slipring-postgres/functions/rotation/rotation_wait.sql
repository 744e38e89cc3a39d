-- Purpose: how long a step of a rotation of all queues stands in line for one of them. Consumers that
--          stay in their transactions keep the lock of a FIFO queue one after the other: who goes away
--          after 50 ms never gets it, and everybody's tables grow meanwhile.
-- Inputs:  p_since, the sequence of the time since when the present generation is written; p_now_ms.
-- Lock:    none.
-- Index:   none.
-- Answers: milliseconds: a hundredth of how long it has been under way, from 50 to 2,000.
CREATE OR REPLACE FUNCTION slipring.rotation_wait(p_since regclass, p_now_ms bigint)
RETURNS int LANGUAGE sql VOLATILE AS $$
    SELECT greatest(50, least(2000, (p_now_ms - pg_sequence_last_value(p_since)) / 100))::int
$$;
