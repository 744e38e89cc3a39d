-- Purpose: a receipt as a text that cannot be guessed (S3.6): queue, message, fence and a keyed
--          digest of them of 128 bits.
-- Inputs:  p_key of the store; p_queue, p_message, p_fence.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.receipt_seal(
    p_key bytea, p_queue int, p_message bigint, p_fence bigint)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT format('s1.%s.%s.%s.%s', p_queue, p_message, p_fence, encode(substring(sha256(p_key
        || sha256(p_key || convert_to(format('%s.%s.%s', p_queue, p_message, p_fence), 'UTF8')))
        FROM 1 FOR 16), 'hex'))
$$;
