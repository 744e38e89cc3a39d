-- Purpose: copies messages of the log to the shelf: a first picture and a body of each. The caller
--          takes them out of the log's lanes or leases.
-- Inputs:  p_from, the live tables of p_queue; p_to, the queue they go to; arrays with one entry
--          for each: lane, number, state, due time or deadline (null in the states ready and
--          parked), new priority or null, attempts, fence, first receive, delay; p_source;
--          p_foreign where p_to is another queue, whose lock the caller does not have; p_before as
--          fifo_groups_set's; p_failures, what is kept of the failures of each.
-- Lock:    the lock of p_queue; p_to's row against deletion where it is another queue.
-- Index:   the partitions' order indexes, one step for each; the shelf's indexes grow.
CREATE OR REPLACE FUNCTION slipring.log_to_items(
    p_from text, p_to slipring.queue, p_lanes bigint[], p_ids bigint[], p_states int[],
    p_untils_ms bigint[], p_priorities bigint[], p_attempts bigint[], p_fences bigint[],
    p_first_ms bigint[], p_delays_ms bigint[], p_source text, p_holders bigint[] DEFAULT NULL,
    p_foreign boolean DEFAULT false, p_before bigint DEFAULT NULL,
    p_failures jsonb[] DEFAULT NULL)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_slot int := slipring.shelf_slot();
    v_entry bigint := slipring.entry_now(p_to.xid_base);
    v_groups record;
BEGIN
    WITH found AS MATERIALIZED (
        SELECT m.*, u.state, u.until_ms, u.attempts, u.fence, u.first_ms, u.delay_ms, u.holder,
            u.failures,
            coalesce(u.priority, m.priority, m.lane & {{PRIORITY_MAX}}) AS rank
        FROM slipring.log_messages(p_from, p_lanes, p_ids) m
        JOIN unnest(p_states, p_untils_ms, p_priorities, p_attempts, p_fences, p_first_ms,
            p_delays_ms, p_holders, p_failures) WITH ORDINALITY AS u(state, until_ms, priority,
            attempts, fence, first_ms, delay_ms, holder, failures, n) ON u.n = m.n),
    kept AS (
        INSERT INTO slipring.item_body (slot, id, group_name, dedup_id, headers, body)
        SELECT v_slot, f.id, f.group_name, f.dedup_id, f.headers, f.body FROM found f),
    added AS (
        INSERT INTO slipring.item_picture (slot, id, seq, entry, queue_id, state, turn, priority,
            sent_ms, attempts, fence, first_received_ms, delay_ms, lease_ms, holder, bytes,
            fifo_group, source, earlier, failures)
        SELECT v_slot, f.id, 1, v_entry, p_to.queue_id, f.state,
            coalesce(f.until_ms, slipring.item_turn(p_to.fifo, f.state, f.attempts, f.rank)),
            f.rank, f.sent_ms, f.attempts, f.fence, f.first_ms, coalesce(f.delay_ms, 0), f.lease_ms, f.holder,
            f.bytes, CASE WHEN p_to.fifo THEN coalesce(f.group_name, '') END, p_source,
            -- A dead letter of the log is one whose first delivery was its last.
            (p_source IS NOT NULL)::int, f.failures
        FROM found f),
    touched AS (
        INSERT INTO slipring.fifo_touched (slot, queue_id, name, id, entry)
        SELECT v_slot, p_to.queue_id, coalesce(f.group_name, ''), min(f.id), v_entry FROM found f
        WHERE p_to.fifo AND p_foreign GROUP BY coalesce(f.group_name, '')),
    counted AS (
        INSERT INTO slipring.tally
        SELECT v_slot, p_to.queue_id, v_entry, count(*) FILTER (WHERE f.state = 1),
            count(*) FILTER (WHERE f.state = 1 AND f.rank < {{PRIORITY_DEFAULT}}),
            count(*) FILTER (WHERE f.state = 0), count(*) FILTER (WHERE f.state = 2),
            count(*) FILTER (WHERE f.state = 3), sum(f.bytes)
        FROM found f HAVING count(*) > 0)
    SELECT array_agg(coalesce(f.group_name, '')) AS names, array_agg(f.id) AS ids INTO v_groups
    FROM found f WHERE p_to.fifo AND NOT p_foreign;
    PERFORM slipring.fifo_groups_set(p_to, v_groups.names, v_groups.ids, NULL, true,
        p_before);
    PERFORM nextval(p_to.activity);
END $$;
