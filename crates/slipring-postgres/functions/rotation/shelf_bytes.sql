-- Purpose: how large the tables of the shelf in a slot are, what is out of line included.
-- Inputs:  p_slot.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.shelf_bytes(p_slot int)
RETURNS bigint LANGUAGE sql AS $$
    SELECT sum(pg_table_size(format('slipring.%s_%s', t, p_slot)::regclass))::bigint
    FROM unnest(slipring.shelf_tables()) t
$$;
