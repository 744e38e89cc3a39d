-- Purpose: the sequence by which this session remembers the numbers that its transaction has given, see
--          number_take. NUMBERS sequences serve all sessions: what others set one to is not this session's value.
-- Inputs:  none.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.numbers()
RETURNS regclass LANGUAGE sql STABLE AS $$
    SELECT ('slipring.numbers_' || pg_backend_pid() % {{NUMBERS}})::regclass
$$;
