-- Purpose: the seq of a row of the shelf that follows another one of its kind. The first one's is
--          higher than all in older generations: what was not worth copying may be there still.
-- Inputs:  p_before, the seq of the row before; null or 0 where there is none.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.shelf_seq(p_before bigint)
RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT coalesce(nullif(p_before, 0), pg_sequence_last_value('slipring.shelf') << 32) + 1
$$;
