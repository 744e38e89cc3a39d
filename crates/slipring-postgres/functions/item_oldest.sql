-- Purpose: when the oldest ready message of a queue that has pictures was sent.
-- Inputs:  p_queue.
-- Lock:    none.
-- Index:   item_order from the mark on, one step for each priority in use; item_order_new.
CREATE OR REPLACE FUNCTION slipring.item_oldest(p_queue int)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_mark slipring.mark := slipring.mark_read(p_queue, 1);
BEGIN
    RETURN (
        WITH RECURSIVE firsts AS (
            (SELECT i.turn, i.id, i.sent_ms FROM slipring.item i
             WHERE i.queue_id = p_queue AND i.state = 1
                 AND (i.turn, i.id) >= (v_mark.turn, v_mark.id)
             ORDER BY i.turn, i.id LIMIT 1)
            UNION ALL
            SELECT n.turn, n.id, n.sent_ms FROM firsts f CROSS JOIN LATERAL (
                SELECT i.turn, i.id, i.sent_ms FROM slipring.item i
                WHERE i.queue_id = p_queue AND i.state = 1 AND i.turn > f.turn
                ORDER BY i.turn, i.id LIMIT 1) n)
        SELECT f.sent_ms FROM (
            SELECT f.id, f.sent_ms FROM firsts f
            UNION ALL
            SELECT n.id, n.sent_ms FROM slipring.spans(v_mark.unseen) r CROSS JOIN LATERAL (
                SELECT i.id, i.sent_ms FROM slipring.item i
                WHERE i.queue_id = p_queue AND i.state = 1 AND i.entry >= r.first
                    AND i.entry < r.past OFFSET 0) n) f
        ORDER BY f.id LIMIT 1);
END $$;
