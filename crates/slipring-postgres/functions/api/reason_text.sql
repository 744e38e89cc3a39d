-- Purpose: the reason of a failure as it is kept (S6.8): a text of more than 4 KiB is cut between two
--          characters and ends with an ellipsis.
-- Inputs:  p_reason, or null.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.reason_text(p_reason text)
RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_bytes bytea;
    v_n int := {{REASON_BYTES_MAX}} - 3;
BEGIN
    IF getdatabaseencoding() = 'SQL_ASCII' AND p_reason IS NOT NULL AND NOT slipring.text_is_utf8(p_reason) THEN
        p_reason := encode(convert_to(p_reason, 'SQL_ASCII'), 'escape');
    END IF;
    IF p_reason IS NULL OR octet_length(p_reason) <= {{REASON_BYTES_MAX}} THEN
        RETURN p_reason;
    END IF;
    v_bytes := convert_to(left(p_reason, {{REASON_BYTES_MAX}}), 'UTF8');
    -- Bytes that begin with 10 go on with a character.
    WHILE get_byte(v_bytes, v_n) & 192 = 128 LOOP
        v_n := v_n - 1;
    END LOOP;
    RETURN convert_from(substring(v_bytes FOR v_n), 'UTF8')
        || convert_from(decode('e280a6', 'hex'), 'UTF8');
END $$;
