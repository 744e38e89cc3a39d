-- Purpose: the rows that were set aside, because they were not as the store writes rows.
-- Inputs:  the name of a queue, or null for all; of one that is gone, what it has left.
-- Lock:    none.
-- Index:   see findings_found.
-- Answers: the newest first: the queue, the kind of row, what is wrong with it, how many messages it
--          stood for, when it was set aside, and the whole row.
CREATE OR REPLACE FUNCTION slipring.findings(queue text DEFAULT NULL)
RETURNS TABLE (queue text, kind text, why text, messages bigint, set_aside_at timestamptz,
    kept jsonb)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp AS $$
    SELECT a.queue, a.kind, a.why, a.messages, a.at, a.kept FROM slipring.findings_found($1) a
    ORDER BY a.aside_id DESC
$$;
