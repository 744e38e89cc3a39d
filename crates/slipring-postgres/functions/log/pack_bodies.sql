-- Purpose: the rows of the log for messages that are nothing but bodies: small neighbours share
--          one.
-- Inputs:  p_bodies, none of them null.
-- Lock:    none.
-- Index:   none.
-- Answers: row by row: the place of its last message in p_bodies; body, n and bytes_each of
--          message. Packs are filled as the program fills its own, up to 1,920 bytes.
CREATE OR REPLACE FUNCTION slipring.pack_bodies(p_bodies bytea[])
RETURNS TABLE (last int, body bytea, n int, bytes_each int)
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_next bytea;
    v_size int;
    v_n int := 0;
    v_bytes int := 0;
    v_each int;
    v_ends bytea;
BEGIN
    last := 0;
    -- The null at the end ends the last row.
    FOREACH v_next IN ARRAY p_bodies || NULL::bytea LOOP
        v_size := octet_length(v_next);
        IF v_n > 0 AND v_n < {{PACK_MESSAGES_MAX}}
            AND v_bytes + v_size + 2 * v_n + 2 <= {{PACK_BYTES_MAX}} THEN
            v_n := v_n + 1;
            v_bytes := v_bytes + v_size;
            v_ends := v_ends || int2send(v_bytes::int2);
            body := body || v_next;
            v_each := CASE WHEN v_each = v_size THEN v_size END;
            CONTINUE;
        ELSIF v_n > 0 THEN
            last := last + v_n;
            n := nullif(v_n, 1);
            bytes_each := CASE WHEN v_n > 1 THEN v_each END;
            body := CASE WHEN v_n > 1 THEN v_ends || body ELSE body END;
            RETURN NEXT;
        END IF;
        v_n := 1;
        v_bytes := v_size;
        v_each := v_size;
        v_ends := CASE WHEN v_size <= {{PACK_BYTES_MAX}} THEN int2send(v_size::int2) END;
        body := v_next;
    END LOOP;
END $$;
