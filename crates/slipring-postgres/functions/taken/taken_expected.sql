-- Purpose: whether a transaction may be handing out messages of a queue without its lock that has asked for
--          it, though the state does not say so: see taken_ask.
-- Inputs:  p_queue, which may be one of whose neighbours a transaction has asked that for.
-- Lock:    that the answer holds for as long as one writes, the queue's.
-- Index:   none. Volatile like what it reads, so that it is inlined.
CREATE OR REPLACE FUNCTION slipring.taken_expected(p_queue int)
RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT CASE WHEN pg_sequence_last_value('slipring.taken_asked') + {{TAKEN_ASKED_GENERATIONS}}
            >= pg_sequence_last_value('slipring.journal')
        THEN coalesce(pg_sequence_last_value(slipring.taken_asked(p_queue)) + {{TAKEN_ASKED_GENERATIONS}}
            >= pg_sequence_last_value('slipring.journal'), false)
        ELSE false END
$$;
