-- Purpose: how long a call of a server has waited for the queue's lock: a lease that it gives begins after that (S2.2).
-- Inputs:  p_since, before it.
-- Lock:    none.
-- Index:   none. Volatile like what it calls, so that it is inlined.
-- Answers: ms; 0 for less than 50, which is no wait for a transaction that stays open.
CREATE OR REPLACE FUNCTION slipring.waited_ms(p_since timestamptz)
RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT CASE WHEN clock_timestamp() >= p_since + interval '50 ms'
        THEN (extract(epoch FROM clock_timestamp() - p_since) * 1000)::bigint ELSE 0 END
$$;
