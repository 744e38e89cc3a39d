-- Purpose: a receipt as a text that cannot be guessed (S3.6): what it names, and a keyed digest of
--          that of 128 bits.
-- Inputs:  p_key of the store; p_what, see receipt_seal.
-- Lock:    none.
-- Index:   none. Stable like convert_to, so that it is inlined.
CREATE OR REPLACE FUNCTION slipring.receipt_text(p_key bytea, p_what text)
RETURNS text LANGUAGE sql STABLE AS $$
    SELECT 's1.' || p_what || '.' || encode(substring(sha256(p_key
        || sha256(p_key || convert_to(p_what, 'UTF8'))) FROM 1 FOR 16), 'hex')
$$;
