-- Purpose: the next queue that may have a deadline: one with rows in lease, tally or tally_sum, or a pause
--          that ends. Most of very many queues have none, and are passed over by a step of an index.
-- Inputs:  p_after, the number of a queue: those with higher ones.
-- Lock:    none.
-- Index:   lease_newest, tally_queue, tally_sum_newest, one step in each slot; queue_pause, all of it.
-- Answers: its number, which may be that of a deleted queue; null where there is none.
CREATE OR REPLACE FUNCTION slipring.queue_stirring(p_after int)
RETURNS int LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN least(
        (SELECT l.queue_id FROM lease l WHERE l.queue_id > p_after ORDER BY l.queue_id LIMIT 1),
        (SELECT t.queue_id FROM tally t WHERE t.queue_id > p_after ORDER BY t.queue_id LIMIT 1),
        (SELECT t.queue_id FROM tally_sum t WHERE t.queue_id > p_after ORDER BY t.queue_id LIMIT 1),
        (SELECT min(q.queue_id) FROM slipring.queue q
         WHERE q.paused_until_ms IS NOT NULL AND NOT q.pause_over AND q.queue_id > p_after));
END $$;
