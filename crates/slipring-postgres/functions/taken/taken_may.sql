-- Purpose: whether messages of a queue may be handed out without its lock: a transaction has done so, by taken_ask,
--          and the state has its hand-out, not more than taken_generations ago. Servers lock the rows of what
--          they hand out, too, as long as it is so.
-- Inputs:  p_state of the queue.
-- Lock:    none.
-- Index:   none. Volatile like what it reads, so that it is inlined.
CREATE OR REPLACE FUNCTION slipring.taken_may(p_state slipring.state)
RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT coalesce(p_state.taken IS NOT NULL AND p_state.taken_journal
        + slipring.taken_generations() >= pg_sequence_last_value('slipring.journal'), false)
$$;
