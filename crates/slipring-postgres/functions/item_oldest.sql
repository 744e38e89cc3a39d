-- Purpose: when the oldest ready row of item of a queue was sent.
-- Inputs:  p_queue.
-- Lock:    none.
-- Index:   item_order, one step for each priority in use.
CREATE OR REPLACE FUNCTION slipring.item_oldest(p_queue int)
RETURNS bigint LANGUAGE sql STABLE AS $$
    WITH RECURSIVE firsts AS (
        (SELECT i.turn, i.id, i.sent_ms FROM slipring.item i
         WHERE i.queue_id = p_queue AND i.state = 1 ORDER BY i.turn, i.id LIMIT 1)
        UNION ALL
        SELECT n.turn, n.id, n.sent_ms FROM firsts f CROSS JOIN LATERAL (
            SELECT i.turn, i.id, i.sent_ms FROM slipring.item i
            WHERE i.queue_id = p_queue AND i.state = 1 AND i.turn > f.turn
            ORDER BY i.turn, i.id LIMIT 1) n)
    SELECT f.sent_ms FROM firsts f ORDER BY f.id LIMIT 1
$$;
