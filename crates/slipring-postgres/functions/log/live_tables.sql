-- Purpose: what stands in FROM to read the messages of a queue: the tables of all generations
--          that may have messages which count.
-- Inputs:  p_names, see live_table_names.
-- Lock:    none.
-- Index:   none. Stable like array_to_string, so that it is inlined: give it a variable.
CREATE OR REPLACE FUNCTION slipring.live_tables(p_names text[])
RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN cardinality(p_names) = 1 THEN p_names[1]
        ELSE '(SELECT * FROM ' || array_to_string(p_names, ' UNION ALL SELECT * FROM ') || ')' END
$$;

CREATE OR REPLACE FUNCTION slipring.live_tables(p_queue slipring.queue, p_state slipring.state)
RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_names text[] := slipring.live_table_names(p_queue, p_state);
BEGIN
    RETURN slipring.live_tables(v_names);
END $$;
