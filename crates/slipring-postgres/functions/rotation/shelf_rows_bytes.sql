-- Purpose: how large the tables of the shelf in a slot are without what belongs to them: 0 when
--          they are empty.
-- Inputs:  p_slot.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.shelf_rows_bytes(p_slot int)
RETURNS bigint LANGUAGE sql AS $$
    SELECT sum(pg_relation_size(format('slipring.%s_%s', t, p_slot)::regclass))::bigint
    FROM unnest(slipring.shelf_tables()) t
$$;
