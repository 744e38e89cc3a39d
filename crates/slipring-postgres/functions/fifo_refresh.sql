-- Purpose: brings the groups of a FIFO queue up to date with their messages (S7.3): a group gives
--          its first message, unless one is leased or waits for a retry, or the first is delayed.
-- Inputs:  p_queue.
-- Lock:    the caller holds the queue's lock.
-- Index:   fifo_touched_queue, item_blocking, item_group, fifo_group_pkey.
CREATE OR REPLACE FUNCTION slipring.fifo_refresh(p_queue int)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_names text[];
BEGIN
    WITH t AS (DELETE FROM slipring.fifo_touched t WHERE t.queue_id = p_queue RETURNING t.name)
    SELECT array_agg(DISTINCT t.name) INTO v_names FROM t;
    IF v_names IS NULL THEN
        RETURN;
    END IF;
    WITH now AS MATERIALIZED (
        SELECT n.name, f.id IS NOT NULL AS there,
            CASE WHEN f.state = 1 AND NOT EXISTS (
                SELECT FROM slipring.item i WHERE i.queue_id = p_queue AND i.fifo_group = n.name
                    AND i.fifo_group IS NOT NULL
                    AND (i.state = 2 OR (i.state = 0 AND i.attempts > 0)))
            THEN f.id END AS head_id
        FROM unnest(v_names) AS n(name)
        LEFT JOIN LATERAL (
            SELECT i.id, i.state FROM slipring.item i
            WHERE i.queue_id = p_queue AND i.fifo_group = n.name AND i.fifo_group IS NOT NULL
                AND i.state <> 3
            ORDER BY i.id LIMIT 1) f ON true),
    gone AS (
        DELETE FROM slipring.fifo_group g USING now n
        WHERE g.queue_id = p_queue AND g.name = n.name AND NOT n.there)
    INSERT INTO slipring.fifo_group AS g
    SELECT p_queue, n.name, n.head_id FROM now n WHERE n.there
    ON CONFLICT (queue_id, name) DO UPDATE SET head_id = excluded.head_id
    WHERE g.head_id IS DISTINCT FROM excluded.head_id;
END $$;
