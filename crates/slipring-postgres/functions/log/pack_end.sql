-- Purpose: where a message of a pack ends, counted from the first byte of the first body. A pack
--          is a row of message with n: it begins with n numbers of two bytes, the end of each
--          body, and then has the bodies.
-- Inputs:  p_pack, the row's body; p_k, the message's place from 1, or 0.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.pack_end(p_pack bytea, p_k int)
RETURNS int LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_k = 0 THEN 0
        ELSE get_byte(p_pack, 2 * p_k - 2) * 256 + get_byte(p_pack, 2 * p_k - 1) END
$$;
