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
    v_receipt text;
    v_part text[];
BEGIN
    n := 0;
    FOREACH v_receipt IN ARRAY coalesce(p_receipts, '{}') LOOP
        v_part := string_to_array(v_receipt, '.');
        -- What is no number, or one that is too large, must not reach the casts.
        IF cardinality(v_part) IS DISTINCT FROM 5
            OR translate(v_part[2] || v_part[3] || v_part[4], '0123456789', '') <> ''
            OR length(v_part[2]) NOT BETWEEN 1 AND 9 OR length(v_part[3]) NOT BETWEEN 1 AND 19
            OR length(v_part[4]) NOT BETWEEN 1 AND 19
            OR greatest(v_part[3]::numeric, v_part[4]::numeric) > 9223372036854775807 THEN
            v_part := NULL;
        END IF;
        IF v_part IS NULL OR slipring.receipt_seal(v_key, v_part[2]::int, v_part[3]::bigint,
                v_part[4]::bigint) IS DISTINCT FROM v_receipt THEN
            PERFORM slipring.fail('SR005', 'the receipt is not one that slipring.receive has given '
                'here', jsonb_build_object('index', n));
        END IF;
        n := n + 1;
        queue := v_part[2];
        message := v_part[3];
        fence := v_part[4];
        RETURN NEXT;
    END LOOP;
END $$;
