-- Purpose: before which moment no lease of the log lapses, queue by queue.
-- Inputs:  none.
-- Lock:    none.
-- Index:   state_newest, one step in each slot for each queue.
CREATE OR REPLACE FUNCTION slipring.lapses()
RETURNS TABLE (queue_id int, lapse_ms bigint) LANGUAGE sql STABLE AS $$
    SELECT q.queue_id, s.lapse_ms FROM slipring.queue q CROSS JOIN LATERAL (
        SELECT s.lapse_ms FROM slipring.state s WHERE s.queue_id = q.queue_id
        ORDER BY s.seq DESC LIMIT 1) s
    WHERE s.lapse_ms IS NOT NULL
$$;
