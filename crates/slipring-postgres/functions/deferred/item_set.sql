-- Purpose: brings messages that have pictures into another state; state 4 is their end.
-- Inputs:  p_queue; arrays with one entry for each message: its number, its new state, the due time
--          or deadline (null in the states ready and parked), and what else changes (null:
--          nothing): priority, attempts, fence, delay, failures. p_holders with the state leased, p_served
--          where a receive of a FIFO queue took them, and p_before, see fifo_groups_set.
-- Lock:    the queue's lock.
-- Index:   item_picture_N_newest; the indexes of item_picture grow; see fifo_groups_set.
-- Answers: how many were there.
CREATE OR REPLACE FUNCTION slipring.item_set(
    p_queue slipring.queue, p_ids bigint[], p_states int[], p_untils_ms bigint[],
    p_priorities bigint[] DEFAULT NULL, p_attempts bigint[] DEFAULT NULL,
    p_fences bigint[] DEFAULT NULL, p_delays_ms bigint[] DEFAULT NULL,
    p_first_ms bigint DEFAULT NULL, p_holders bigint[] DEFAULT NULL,
    p_served bigint[] DEFAULT NULL, p_before bigint DEFAULT NULL,
    p_failures jsonb[] DEFAULT NULL)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_slot int := slipring.shelf_slot();
    v_entry bigint := slipring.entry_now(p_queue.xid_base);
    v_groups record;
BEGIN
    WITH old AS MATERIALIZED (
        SELECT i.*, u.state AS state_to, u.until_ms, coalesce(u.priority, i.priority) AS rank_to,
            u.attempts AS attempts_to, u.fence AS fence_to, u.delay_ms AS delay_to,
            u.holder AS holder_to, u.served, u.failures AS failures_to
        FROM unnest(p_ids, p_states, p_untils_ms, p_priorities, p_attempts, p_fences,
            p_delays_ms, p_holders, p_served, p_failures) AS u(id, state, until_ms, priority,
            attempts, fence, delay_ms, holder, served, failures)
        CROSS JOIN LATERAL slipring.item_now(u.id) i WHERE i.queue_id = p_queue.queue_id),
    changed AS (
        INSERT INTO slipring.item_picture (slot, id, seq, entry, queue_id, state, turn, priority,
            sent_ms, attempts, fence, first_received_ms, delay_ms, lease_ms, holder, bytes,
            fifo_group, source, earlier, failures)
        SELECT v_slot, o.id, o.seq + 1, v_entry, o.queue_id, o.state_to,
            coalesce(o.until_ms, slipring.item_turn(p_queue.fifo, o.state_to,
                coalesce(o.attempts_to, o.attempts), o.rank_to)), o.rank_to,
            o.sent_ms, coalesce(o.attempts_to, o.attempts), coalesce(o.fence_to, o.fence),
            coalesce(o.first_received_ms, p_first_ms), coalesce(o.delay_to, o.delay_ms),
            o.lease_ms, o.holder_to, o.bytes, o.fifo_group,
            CASE WHEN o.state_to < 4 THEN o.source END, o.earlier,
            CASE WHEN o.state_to < 4 THEN coalesce(o.failures_to, o.failures) END
        FROM old o),
    counted AS (
        INSERT INTO slipring.tally
        SELECT v_slot, p_queue.queue_id, v_entry, sum((o.state_to = 1)::int - (o.state = 1)::int),
            sum((o.state_to = 1 AND o.rank_to < {{PRIORITY_DEFAULT}})::int
                - (o.state = 1 AND o.priority < {{PRIORITY_DEFAULT}})::int),
            sum((o.state_to = 0)::int - (o.state = 0)::int),
            sum((o.state_to = 2)::int - (o.state = 2)::int),
            sum((o.state_to = 3)::int - (o.state = 3)::int),
            -coalesce(sum(o.bytes) FILTER (WHERE o.state_to = 4), 0)
        FROM old o HAVING count(*) > 0)
    SELECT count(*) AS n, array_agg(o.fifo_group) FILTER (WHERE o.fifo_group IS NOT NULL) AS names,
        array_agg(o.id) FILTER (WHERE o.fifo_group IS NOT NULL) AS ids,
        array_agg(o.served) FILTER (WHERE o.fifo_group IS NOT NULL) AS served
    INTO v_groups FROM old o;
    PERFORM slipring.fifo_groups_set(p_queue, v_groups.names, v_groups.ids, v_groups.served,
        false, p_before);
    PERFORM nextval(p_queue.activity);
    RETURN v_groups.n;
END $$;
