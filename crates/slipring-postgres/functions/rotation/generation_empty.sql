-- Purpose: empties the tables of the generation that was let go last: all that lived in it has been
--          copied, and whoever comes reads the next ones. Before the next generation begins.
-- Inputs:  p_low, the oldest generation that is read; p_tables, the tables' names without slot.
-- Lock:    the caller holds the lock of rotation; see tables_empty.
-- Index:   none.
-- Answers: whether it did; false when somebody reads one of them still, a dump begins, or a dump was
--          restored: a later step tries again. Null when they are empty.
CREATE OR REPLACE FUNCTION slipring.generation_empty(p_low bigint, p_tables text[])
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_tables text[] := ARRAY(SELECT format('slipring.%s_%s', t, (p_low + 2) % 3)
        FROM unnest(p_tables) t);
BEGIN
    IF (SELECT sum(pg_relation_size(t::regclass)) FROM unnest(v_tables) t) = 0 THEN
        RETURN NULL;
    END IF;
    -- A dump has the sequences as of later than the rows: these may not have been copied.
    IF EXISTS (SELECT FROM slipring.queue q WHERE q.home_at <> q.written_at) THEN
        RETURN false;
    END IF;
    RETURN NOT slipring.dump_begins() AND slipring.tables_empty(array_to_string(v_tables, ', '));
END $$;
