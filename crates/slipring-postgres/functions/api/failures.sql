-- Purpose: the last failures of a message, from the first one with a reason on (S6.8).
-- Inputs:  the message's number.
-- Lock:    none; one snapshot.
-- Index:   see item_show.
-- Answers: a row for each, the oldest first; none where nothing is kept or there is no such message.
CREATE OR REPLACE FUNCTION slipring.failures(message bigint)
RETURNS TABLE (attempt int, ended_at timestamptz, ended_by text, reason text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp
SET jit = off AS $$
    SELECT (f ->> 'attempt')::int, to_timestamp((f ->> 'at_ms')::bigint / 1000.0), f ->> 'ended_by',
        f ->> 'reason'
    FROM slipring.item_show($1) s
    CROSS JOIN LATERAL jsonb_array_elements(s.failures) WITH ORDINALITY AS u(f, n)
    ORDER BY u.n
$$;
