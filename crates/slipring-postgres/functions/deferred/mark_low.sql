-- Purpose: the lowest turn of the pictures that a mark is about.
-- Inputs:  p_kind, see mark_read.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.mark_low(p_kind int)
RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE p_kind WHEN 7 THEN {{TURN_TRIED}} WHEN 8 THEN {{TURN_FAILING}}
        ELSE {{BIGINT_MIN}} END
$$;
