-- Purpose: the receipt of a hand-out.
-- Inputs:  p_key of the store; p_queue, p_message, p_fence.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.receipt_seal(
    p_key bytea, p_queue int, p_message bigint, p_fence bigint)
RETURNS text LANGUAGE sql STABLE AS $$
    SELECT slipring.receipt_text(p_key,
        p_queue::text || '.' || p_message::text || '.' || p_fence::text)
$$;
