-- Purpose: the tables of a set that queues share, or that is reserved, which may have messages that count.
-- Inputs:  p_place.
-- Lock:    see place_enter: with it, no other than these is written.
-- Index:   none; read outside MVCC.
-- Answers: their names, the oldest first.
CREATE OR REPLACE FUNCTION slipring.place_tables(p_place int)
RETURNS text[] LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_low bigint := pg_sequence_last_value(('slipring.place_low_' || p_place)::regclass);
    v_now bigint := pg_sequence_last_value(('slipring.place_generation_' || p_place)::regclass);
BEGIN
    -- Three after an import.
    RETURN ARRAY(SELECT format('slipring.message_%s_%s', p_place, g % 3)
        FROM generate_series(v_low, greatest(v_low + 1, v_now)) g ORDER BY g);
END $$;
