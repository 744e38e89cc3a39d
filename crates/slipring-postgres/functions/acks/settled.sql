-- Purpose: the answer to one settlement or prolongation.
-- Inputs:  p_message; p_n, its place; p_outcome, or for an error gone or what lease_lost knows.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.settled(
    p_message bigint, p_n int, p_outcome text, p_until_ms bigint, p_target int)
RETURNS TABLE (n int, outcome text, until_ms bigint, target int, error text,
    error_message text, error_context jsonb)
LANGUAGE sql IMMUTABLE AS $$
    SELECT p_n, CASE WHEN e.error IS NULL THEN p_outcome END, p_until_ms, p_target, e.error,
        CASE e.error
            WHEN 'message_gone' THEN format('message %s is not in the queue any more', p_message)
            WHEN 'lease_lost' THEN slipring.lease_lost(p_outcome) END,
        CASE WHEN e.error IS NOT NULL THEN jsonb_build_object('message', p_message) END
    FROM (SELECT CASE WHEN p_outcome = 'gone' THEN 'message_gone'
        WHEN slipring.lease_lost(p_outcome) IS NOT NULL THEN 'lease_lost' END AS error) e
$$;
