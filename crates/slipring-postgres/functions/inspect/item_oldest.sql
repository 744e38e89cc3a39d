-- Purpose: when the oldest ready message of a queue that has pictures was sent; of those of its first
--          1,000 priorities.
-- Inputs:  p_queue.
-- Lock:    none.
-- Index:   item_order from the marks on, one step for each priority in use; item_order_new.
CREATE OR REPLACE FUNCTION slipring.item_oldest(p_queue int)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        WITH RECURSIVE marks AS (
            SELECT m.*, slipring.mark_low(k) AS low,
                greatest(slipring.mark_low(k), 0) + {{TURN_STANDING}} AS past
            FROM unnest(ARRAY[1, 7, 8]) k CROSS JOIN LATERAL slipring.mark_read(p_queue, k) m),
        firsts AS (
            SELECT f.*, 1 AS n FROM marks m CROSS JOIN LATERAL (
                SELECT i.turn, i.id, i.sent_ms, m.past FROM item i
                WHERE i.queue_id * 8::bigint + i.state = p_queue * 8::bigint + 1
                    AND i.state + 0 < 4
                    AND (i.turn, i.id) >= (m.turn, m.id) AND i.turn < m.past
                ORDER BY i.turn, i.id LIMIT 1) f
            UNION ALL
            SELECT n.turn, n.id, n.sent_ms, f.past, f.n + 1 FROM firsts f CROSS JOIN LATERAL (
                SELECT i.turn, i.id, i.sent_ms FROM item i
                WHERE i.queue_id * 8::bigint + i.state = p_queue * 8::bigint + 1
                    AND i.state + 0 < 4
                    AND i.turn > f.turn AND i.turn < f.past
                ORDER BY i.turn, i.id LIMIT 1) n
            WHERE f.n < {{OLDEST_STEPS}})
        SELECT f.sent_ms FROM (
            SELECT f.id, f.sent_ms FROM firsts f
            UNION ALL
            SELECT n.id, n.sent_ms FROM marks m CROSS JOIN LATERAL slipring.spans(m.unseen) r
            CROSS JOIN LATERAL (
                SELECT i.id, i.sent_ms FROM item i
                WHERE i.queue_id * {{STATE_SLOTS}}::bigint + i.state
                    = p_queue * {{STATE_SLOTS}}::bigint + 1
                    AND i.state + 1 < 5
                    AND i.entry >= r.first AND i.entry < r.past AND i.turn >= m.low
                    AND (i.turn, i.id) < (m.turn, m.id) OFFSET 0) n) f
        ORDER BY f.id LIMIT 1);
END $$;
