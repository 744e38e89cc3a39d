-- Purpose: queues that have rows in an older generation of the shelf which were not all copied to
--          the present one.
-- Inputs:  p_after, the number of a queue: those with higher ones; p_from, the slot that wants to be
--          emptied; p_shelf, the present generation.
-- Lock:    none.
-- Index:   queue_pkey; mark_newest and one step in each table of the slot for each queue.
CREATE OR REPLACE FUNCTION slipring.shelf_waits(p_after int, p_from int, p_shelf bigint)
RETURNS TABLE (queue_id int) LANGUAGE sql STABLE AS $$
    SELECT q.queue_id FROM slipring.queue q
    WHERE q.queue_id > p_after AND (EXISTS (SELECT FROM slipring.item_picture p
            WHERE p.slot = p_from AND p.queue_id * 2::bigint = q.queue_id * 2::bigint
                AND p.state + 2 < 6)
        OR EXISTS (SELECT FROM slipring.tally t
            WHERE t.slot = p_from AND t.queue_id = q.queue_id)
        OR EXISTS (SELECT FROM slipring.tally_sum s
            WHERE s.slot = p_from AND s.queue_id = q.queue_id)
        OR EXISTS (SELECT FROM slipring.mark m
            WHERE m.slot = p_from AND m.queue_id = q.queue_id AND m.kind < 6))
        AND NOT EXISTS (SELECT FROM slipring.mark_read(q.queue_id, 6) m
            WHERE m.unseen = int8multirange(int8range(p_shelf, p_shelf + 1))
                AND m.turn = {{BIGINT_MAX}})
    ORDER BY q.queue_id
$$;
