-- Purpose: the body of a message of a pack.
-- Inputs:  p_pack, the row's body, see pack_end; p_n of the row; p_k, the message's place from 1.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.pack_body(p_pack bytea, p_n int, p_k int)
RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT substring(p_pack, 2 * p_n + slipring.pack_end(p_pack, p_k - 1) + 1,
        slipring.pack_end(p_pack, p_k) - slipring.pack_end(p_pack, p_k - 1))
$$;
