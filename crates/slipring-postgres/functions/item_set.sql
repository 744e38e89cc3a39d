-- Purpose: brings rows of item into another state.
-- Inputs:  p_queue; arrays with one entry for each row: its number, its new state, the due time or
--          deadline (null in the states ready and parked), and what else changes (null: nothing):
--          priority, attempts, fence, delay. p_holder with the state leased.
-- Lock:    the queue's lock.
-- Index:   item_pkey; item's other indexes follow.
CREATE OR REPLACE FUNCTION slipring.item_set(
    p_queue slipring.queue, p_ids bigint[], p_states int[], p_untils_ms bigint[],
    p_priorities bigint[] DEFAULT NULL, p_attempts bigint[] DEFAULT NULL,
    p_fences bigint[] DEFAULT NULL, p_delays_ms bigint[] DEFAULT NULL,
    p_first_ms bigint DEFAULT NULL, p_holders bigint[] DEFAULT NULL)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    WITH u AS (
        SELECT * FROM unnest(p_ids, p_states, p_untils_ms, p_priorities, p_attempts, p_fences,
            p_delays_ms, p_holders)
            AS u(id, state, until_ms, priority, attempts, fence, delay_ms, holder)),
    changed AS (
        UPDATE slipring.item i SET
            state = u.state,
            turn = coalesce(u.until_ms, CASE WHEN p_queue.fifo THEN 0
                ELSE coalesce(u.priority, i.priority) END),
            priority = coalesce(u.priority, i.priority),
            attempts = coalesce(u.attempts, i.attempts),
            fence = coalesce(u.fence, i.fence),
            delay_ms = coalesce(u.delay_ms, i.delay_ms),
            first_received_ms = coalesce(i.first_received_ms, p_first_ms),
            holder = u.holder
        FROM u JOIN slipring.item o ON o.id = u.id
        WHERE i.id = u.id AND i.queue_id = p_queue.queue_id
        RETURNING o.state AS was, o.priority AS priority_was, i.state, i.priority, i.fifo_group),
    touched AS (
        INSERT INTO slipring.fifo_touched
        SELECT DISTINCT p_queue.queue_id, c.fifo_group FROM changed c
        WHERE c.fifo_group IS NOT NULL)
    INSERT INTO slipring.tally
    SELECT p_queue.queue_id, sum((c.state = 1)::int - (c.was = 1)::int),
        sum((c.state = 1 AND c.priority < 1024)::int
            - (c.was = 1 AND c.priority_was < 1024)::int),
        sum((c.state = 0)::int - (c.was = 0)::int), sum((c.state = 2)::int - (c.was = 2)::int),
        sum((c.state = 3)::int - (c.was = 3)::int), 0
    FROM changed c HAVING count(*) > 0;
    PERFORM nextval(p_queue.activity);
END $$;
