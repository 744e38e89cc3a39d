-- Purpose: what stands in FROM to look at the rows that have messages of a run of numbers: in a
--          statement whose parameters are $1, the lane, $3, how many rows, and $4, how many to pass
--          over before.
-- Inputs:  p_tables, see live_table_names; SQL for the first number and the one above the last.
-- Lock:    as live_tables.
-- Index:   the partitions' order indexes, one range; see log_rows for packs.
CREATE OR REPLACE FUNCTION slipring.taken_look(p_tables text[], p_low text, p_high text)
RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN '(SELECT m.id, m.n, m.bytes FROM ' || slipring.live_tables(p_tables) || ' m WHERE m.lane = $1
        AND m.id >= ' || p_low || ' AND m.id < least(' || p_high || ', {{PACK_LOOK_MAX}}) + {{PACK_MESSAGES_MAX}}
        AND m.id - coalesce(m.n, 1) + 1 < ' || p_high || ' ORDER BY m.id LIMIT $3 + $4)';
END $$;
