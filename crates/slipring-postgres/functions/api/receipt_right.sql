-- Purpose: whether a receipt's digest is right: only then what it names is what receipt_seal was
--          given, and its parts are numbers.
-- Inputs:  p_key of the store; p_receipt, any text; p_what, what is between its first three letters
--          and its digest.
-- Lock:    none.
-- Index:   none.
-- Answers: null or false for a text that is no receipt of this store.
CREATE OR REPLACE FUNCTION slipring.receipt_right(p_key bytea, p_receipt text, p_what text)
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN p_what ~ '^[0-9.-]*$'
        THEN slipring.receipt_text(p_key, p_what) = p_receipt END
$$;
