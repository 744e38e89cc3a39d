-- Purpose: whether a generation of tables is left, so that the next one begins: for its size, or for its age
--          where that is worth while. The rule of all groups of tables; who asks says what counts as its size.
-- Inputs:  p_bytes of the generation that count; p_worth, see rotation_worth, and journal_grew for the journal;
--          p_since_ms, when it began; the rest as store_rotate.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.rotation_due(
    p_bytes bigint, p_worth boolean, p_since_ms bigint, p_now_ms bigint, p_bytes_min bigint,
    p_age_ms bigint)
RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT p_bytes >= p_bytes_min
        OR p_worth AND slipring.generation_aged(p_since_ms, p_now_ms, p_age_ms)
$$;
