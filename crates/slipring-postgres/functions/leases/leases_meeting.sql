-- Purpose: the leases of the log of a queue that are not over and may have messages in a table.
-- Inputs:  p_queue; p_table; p_lanes of the queue.
-- Lock:    the caller holds the queue's lock.
-- Index:   the table's order index, two steps for each lane; see lease_open.
-- Answers: the oldest first.
CREATE OR REPLACE FUNCTION slipring.leases_meeting(
    p_queue int, p_table text, p_lanes bigint[])
RETURNS SETOF slipring.lease LANGUAGE plpgsql STABLE AS $$
BEGIN
    -- A pack has the number of its last message.
    RETURN QUERY EXECUTE format('WITH leases AS MATERIALIZED (
            SELECT * FROM slipring.lease_open($1)),
        there AS MATERIALIZED (
            SELECT w.lane, int8range(low.id - {{PACK_REACH}}, high.id, ''[]'') AS ids
            FROM unnest($2) AS w(lane)
            CROSS JOIN LATERAL (
                SELECT m.id FROM %1$s m WHERE m.lane = w.lane ORDER BY m.id LIMIT 1) low
            CROSS JOIN LATERAL (
                SELECT m.id FROM %1$s m WHERE m.lane = w.lane ORDER BY m.id DESC LIMIT 1) high)
        SELECT l.* FROM leases l JOIN there t ON t.lane = l.lane AND l.open && t.ids
        ORDER BY l.leased_ms, l.fence', p_table)
    USING p_queue, p_lanes;
END $$;
