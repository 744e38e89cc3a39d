-- Purpose: the receipts in the text of an array: some drivers send a list without its type, which is
--          taken for a text. No receipt begins with a brace.
-- Inputs:  p_text, which begins with a brace; one that cannot be read is an error (SR005).
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.receipt_list(p_text text)
RETURNS text[] LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN p_text::text[];
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    PERFORM slipring.fail('SR005', format('the text of %s characters begins with a brace and is no '
        'array of receipts; give a receipt, or an array of the type text[]', length(p_text)),
        '{"index": 0}');
END $$;
