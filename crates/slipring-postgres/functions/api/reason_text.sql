-- Purpose: the reason of a failure as it is kept (S6.8): a text of more than 4 KiB is cut between two
--          characters and ends with an ellipsis.
-- Inputs:  p_reason, or null.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.reason_text(p_reason text)
RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_bytes bytea;
    v_n int := 4093;
BEGIN
    IF p_reason IS NULL OR octet_length(p_reason) <= 4096 THEN
        RETURN p_reason;
    END IF;
    v_bytes := convert_to(left(p_reason, 4096), 'UTF8');
    -- Bytes that begin with 10 go on with a character.
    WHILE get_byte(v_bytes, v_n) & 192 = 128 LOOP
        v_n := v_n - 1;
    END LOOP;
    RETURN convert_from(substring(v_bytes FOR v_n), 'UTF8')
        || convert_from(decode('e280a6', 'hex'), 'UTF8');
END $$;
