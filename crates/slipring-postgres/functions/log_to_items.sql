-- Purpose: copies messages of the log to rows of their own in item. The caller takes them out of
--          the log's lanes or leases.
-- Inputs:  p_from, the live tables of p_queue; p_to, the queue they go to; arrays with one entry
--          for each: lane, number, state, due time or deadline (null in the states ready and
--          parked), new priority or null, attempts, fence, first receive, delay; p_source.
-- Lock:    the lock of p_queue; p_to's row against deletion where it is another queue.
-- Index:   the partitions' order indexes, one step for each; item's indexes grow.
CREATE OR REPLACE FUNCTION slipring.log_to_items(
    p_from text, p_to slipring.queue, p_lanes bigint[], p_ids bigint[], p_states int[],
    p_untils_ms bigint[], p_priorities bigint[], p_attempts bigint[], p_fences bigint[],
    p_first_ms bigint[], p_delays_ms bigint[], p_source text, p_holders bigint[] DEFAULT NULL)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('
        WITH added AS (
            INSERT INTO slipring.item (id, queue_id, state, turn, priority, sent_ms, attempts,
                fence, first_received_ms, delay_ms, lease_ms, holder, bytes, fifo_group, source,
                group_name, dedup_id, headers, body)
            SELECT m.id, $1, u.state,
                coalesce(u.until_ms, CASE WHEN $2 THEN 0
                    ELSE coalesce(u.priority, m.priority, m.lane) END),
                coalesce(u.priority, m.priority, m.lane), m.sent_ms, u.attempts, u.fence,
                u.first_ms, coalesce(u.delay_ms, 0), m.lease_ms, u.holder, m.bytes,
                CASE WHEN $2 THEN coalesce(m.group_name, '''') END, $12, m.group_name,
                m.dedup_id, m.headers, m.body
            FROM unnest($3, $4, $5, $6, $7, $8, $9, $10, $11, $13) AS u(lane, id, state,
                until_ms, priority, attempts, fence, first_ms, delay_ms, holder)
            CROSS JOIN LATERAL %s m
            RETURNING state, priority, bytes, fifo_group),
        touched AS (
            INSERT INTO slipring.fifo_touched
            SELECT DISTINCT $1, a.fifo_group FROM added a WHERE a.fifo_group IS NOT NULL)
        INSERT INTO slipring.tally
        SELECT $1, count(*) FILTER (WHERE a.state = 1),
            count(*) FILTER (WHERE a.state = 1 AND a.priority < 1024),
            count(*) FILTER (WHERE a.state = 0), count(*) FILTER (WHERE a.state = 2),
            count(*) FILTER (WHERE a.state = 3), sum(a.bytes)
        FROM added a HAVING count(*) > 0', slipring.log_row(p_from, 'u.lane', 'u.id'))
    USING p_to.queue_id, p_to.fifo, p_lanes, p_ids, p_states, p_untils_ms, p_priorities,
        p_attempts, p_fences, p_first_ms, p_delays_ms, p_source, p_holders;
    PERFORM nextval(p_to.activity);
END $$;
