-- Purpose: one message of a pack.
-- Inputs:  p_row, a row with a pack; p_id, the number of a message in it.
-- Lock:    none.
-- Index:   none.
-- Answers: the row with the message's number, body and size.
CREATE OR REPLACE FUNCTION slipring.pack_message(p_row slipring.message, p_id bigint)
RETURNS slipring.message LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_k int := p_id - p_row.id + p_row.n;
BEGIN
    p_row.bytes := slipring.pack_end(p_row.body, v_k) - slipring.pack_end(p_row.body, v_k - 1);
    p_row.body := slipring.pack_body(p_row.body, p_row.n, v_k);
    p_row.id := p_id;
    RETURN p_row;
END $$;
