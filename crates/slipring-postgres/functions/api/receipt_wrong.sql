-- Purpose: what is wrong with a text that is no receipt made by receipt_seal, for the error.
-- Inputs:  p_receipt.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.receipt_wrong(p_receipt text)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT 'the receipt is ' || CASE
        WHEN p_receipt IS NULL THEN 'null; give one that slipring.receive has given here'
        WHEN p_receipt = '' THEN 'empty; give one that slipring.receive has given here'
        WHEN p_receipt LIKE '{%' THEN 'the text of an array; give the array the type text[]'
        -- The forms of ReceiptKey, in Base64: 1 and three numbers, or 2 and four.
        WHEN p_receipt ~ '^(AQ[-_A-Za-z0-9]{53}|Ag[-_A-Za-z0-9]{64})$'
            THEN 'of a server''s protocol; settle it there, or receive the message by SQL'
        ELSE 'not one that slipring.receive has given here' END
$$;
