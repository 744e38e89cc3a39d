-- Purpose: how long work in the background stands in line for a queue's lock. Consumers that stay in their
--          transactions keep the lock of a FIFO queue one after the other: who goes away after 50 ms never gets
--          it, and nothing of that queue lapses, and its tables grow.
-- Inputs:  p_queue; p_now_ms; p_most_ms.
-- Lock:    none.
-- Index:   none.
-- Answers: milliseconds: p_most_ms, but 50 for three queues of four, which change every four seconds, so that many
--          such queues do not take the time of the others.
CREATE OR REPLACE FUNCTION slipring.turn_wait(p_queue int, p_now_ms bigint, p_most_ms bigint)
RETURNS int LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN (p_queue + p_now_ms / 4096) % 4 = 0
        THEN greatest({{LOCK_WAIT_MS}}, p_most_ms)::int ELSE {{LOCK_WAIT_MS}} END
$$;
