-- Purpose: receipts with what they name, see receipt_right.
-- Inputs:  p_receipts.
-- Lock:    none.
-- Index:   none.
-- Answers: n counts from 1.
CREATE OR REPLACE FUNCTION slipring.receipt_parts(p_receipts text[])
RETURNS TABLE (n bigint, receipt text, what text) LANGUAGE sql STABLE AS $$
    SELECT u.n, u.receipt, substr(u.receipt, 4, greatest(length(u.receipt) - 36, 0))
    FROM unnest(p_receipts) WITH ORDINALITY AS u(receipt, n)
    OFFSET 0
$$;
