-- Purpose: the answer to one settlement or prolongation.
-- Inputs:  p_message; p_n, its place; p_outcome, or gone, old or late for an error.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.settled(
    p_message bigint, p_n int, p_outcome text, p_until_ms bigint, p_target int)
RETURNS TABLE (n int, outcome text, until_ms bigint, target int, error text,
    error_message text, error_context jsonb)
LANGUAGE sql IMMUTABLE AS $$
    SELECT p_n, CASE WHEN p_outcome NOT IN ('gone', 'old', 'late') THEN p_outcome END,
        p_until_ms, p_target,
        CASE p_outcome WHEN 'gone' THEN 'message_gone' WHEN 'old' THEN 'lease_lost'
            WHEN 'late' THEN 'lease_lost' END,
        CASE p_outcome
            WHEN 'gone' THEN format('message %s is not in the queue any more', p_message)
            WHEN 'old' THEN slipring.lease_lost(false)
            WHEN 'late' THEN slipring.lease_lost(true) END,
        CASE WHEN p_outcome IN ('gone', 'old', 'late')
            THEN jsonb_build_object('message', p_message) END
$$;
