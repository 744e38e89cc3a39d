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
    v_part text[];
BEGIN
    FOR v_at IN 1..coalesce(cardinality(p_receipts), 0) LOOP
        v_part := regexp_match(p_receipts[v_at],
            '^s1\.([0-9]{1,9})\.([0-9]{1,19})\.([0-9]{1,19})\.([0-9a-f]{32})$');
        -- Digits that no number holds are no receipt either, and must not reach the casts.
        IF v_part IS NULL OR greatest(v_part[2]::numeric, v_part[3]::numeric)
                > 9223372036854775807 THEN
            v_part := NULL;
        END IF;
        IF v_part IS NULL OR slipring.receipt_seal(v_key, v_part[1]::int, v_part[2]::bigint,
                v_part[3]::bigint) <> p_receipts[v_at] THEN
            PERFORM slipring.fail('SR005', 'the receipt is not one of this store', '{}');
        END IF;
        n := v_at;
        queue := v_part[1];
        message := v_part[2];
        fence := v_part[3];
        RETURN NEXT;
    END LOOP;
END $$;
