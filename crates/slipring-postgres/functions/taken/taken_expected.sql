-- Purpose: whether a transaction that has called taken_ask may be handing out messages of a queue without its
--          lock. Also true where it was called for another queue of the same sequence.
-- Inputs:  p_queue.
-- Lock:    none. A false answer stays right only while the caller holds the queue's lock.
-- Index:   none. Volatile like what it reads, so that it is inlined.
CREATE OR REPLACE FUNCTION slipring.taken_expected(p_queue int)
RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT CASE WHEN pg_sequence_last_value('slipring.taken_asked') + {{TAKEN_ASKED_GENERATIONS}}
            >= pg_sequence_last_value('slipring.journal')
        THEN coalesce(pg_sequence_last_value(slipring.taken_asked(p_queue)) + {{TAKEN_ASKED_GENERATIONS}}
            >= pg_sequence_last_value('slipring.journal'), false)
        ELSE false END
$$;
