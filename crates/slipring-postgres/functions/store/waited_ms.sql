-- Purpose: by how much the leases that a call of a server gives begin later than the call: it has waited for the
--          queue's lock (S2.2).
-- Inputs:  p_since, before this try; p_before_ms, what earlier tries have waited.
-- Lock:    none.
-- Index:   none. Volatile like what it calls, so that it is inlined.
-- Answers: ms; 0 for less than a second, which may be no more than a busy machine: leases begin at the moment that
--          the server says, and it may have a clock of its own.
CREATE OR REPLACE FUNCTION slipring.waited_ms(p_since timestamptz, p_before_ms bigint)
RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT CASE WHEN clock_timestamp() - p_since >= (1000 - p_before_ms) * interval '1 ms'
        THEN p_before_ms + (extract(epoch FROM clock_timestamp() - p_since) * 1000)::bigint ELSE 0 END
$$;
