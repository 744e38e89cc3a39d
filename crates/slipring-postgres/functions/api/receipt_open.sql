-- Purpose: what is in receipts made by receipt_seal.
-- Inputs:  p_receipts; one that is not of this store is an error (SR005).
-- Lock:    none.
-- Index:   store_pkey.
CREATE OR REPLACE FUNCTION slipring.receipt_open(p_receipts text[])
RETURNS TABLE (n int, queue int, message bigint, fence bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_key bytea := (SELECT s.receipt_key FROM slipring.store s);
    v_opened bigint;
    v_wrong record;
BEGIN
    RETURN QUERY SELECT w.n::int, split_part(w.what, '.', 1)::int,
        split_part(w.what, '.', 2)::bigint, split_part(w.what, '.', 3)::bigint
    FROM slipring.receipt_parts(p_receipts) w
    WHERE slipring.receipt_right(v_key, w.receipt, w.what);
    GET DIAGNOSTICS v_opened = ROW_COUNT;
    IF v_opened < cardinality(p_receipts) THEN
        SELECT w.n, w.receipt INTO v_wrong FROM slipring.receipt_parts(p_receipts) w
        WHERE slipring.receipt_right(v_key, w.receipt, w.what) IS NOT TRUE ORDER BY w.n LIMIT 1;
        PERFORM slipring.fail('SR005', slipring.receipt_wrong(v_wrong.receipt),
            jsonb_build_object('index', v_wrong.n - 1));
    END IF;
END $$;
