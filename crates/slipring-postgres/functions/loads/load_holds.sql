-- Purpose: whether a message table has messages of an open load.
-- Inputs:  p_queue, p_state; p_table.
-- Lock:    the caller holds the queue's lock.
-- Index:   load_queue, load_block_pkey; the table's order index, one step for each block and lane.
CREATE OR REPLACE FUNCTION slipring.load_holds(
    p_queue slipring.queue, p_state slipring.state, p_table text)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_held int8multirange := slipring.load_held(p_queue.queue_id);
    v_found boolean := false;
BEGIN
    IF NOT isempty(v_held) THEN
        EXECUTE format('SELECT EXISTS (SELECT FROM unnest($1) l, slipring.spans($2) s
            CROSS JOIN LATERAL (SELECT FROM %s m WHERE m.lane = l AND m.id >= s.first
                AND m.id < s.past LIMIT 1) m)', p_table)
        INTO v_found USING p_state.lanes, v_held;
    END IF;
    RETURN v_found;
END $$;
