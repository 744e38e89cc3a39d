-- Purpose: the tables of the shelf, which rotate together.
-- Inputs:  none.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.shelf_tables()
RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
    SELECT ARRAY['item_picture', 'item_body', 'mark', 'tally', 'tally_sum', 'fifo_group',
        'fifo_touched']
$$;
