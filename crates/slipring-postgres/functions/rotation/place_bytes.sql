-- Purpose: how large the largest of the three message tables of a place is, without TOAST and indexes.
-- Inputs:  p_place.
-- Lock:    ACCESS SHARE on the tables, for a moment.
-- Index:   none. Volatile like what it calls, so that it is inlined.
CREATE OR REPLACE FUNCTION slipring.place_bytes(p_place int)
RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT greatest(pg_relation_size(format('slipring.message_%s_0', p_place)::regclass),
        pg_relation_size(format('slipring.message_%s_1', p_place)::regclass),
        pg_relation_size(format('slipring.message_%s_2', p_place)::regclass))
$$;
