-- Purpose: what users' transactions have acked and no verb has taken in yet: it is among what is
--          leased, and does not count.
-- Inputs:  p_queue, p_state.
-- Lock:    none; the caller's snapshot.
-- Index:   see acks_in and lease_newest; item_picture_N_newest for what no lease of the log covers;
--          the partitions' order indexes where only some messages of different sizes were acked of
--          a lease.
-- Answers: how many messages, and their bytes.
CREATE OR REPLACE FUNCTION slipring.stats_acked(
    p_queue slipring.queue, p_state slipring.state, OUT n bigint, OUT bytes bigint)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    n := 0;
    bytes := 0;
    IF NOT slipring.acks_wait(p_queue, p_state) THEN
        RETURN;
    END IF;
    EXECUTE format('
        WITH acks AS MATERIALIZED (
            SELECT DISTINCT a.message_id, a.fence FROM slipring.acks_in($1, $2) a),
        leases AS MATERIALIZED (
            SELECT l.* FROM slipring.lease_newest($1, ARRAY(SELECT a.fence FROM acks a)) l
            WHERE l.n > 0),
        in_log AS (
            SELECT l.lane, l.n, l.bytes, l.bytes_each, array_agg(a.message_id) AS ids
            FROM acks a JOIN leases l ON l.fence = a.fence AND a.message_id <@ l.open
            GROUP BY l.fence, l.part, l.lane, l.n, l.bytes, l.bytes_each),
        covered AS (
            SELECT cardinality(o.ids) AS n, CASE WHEN cardinality(o.ids) = o.n THEN o.bytes
                WHEN o.bytes_each IS NOT NULL THEN cardinality(o.ids) * o.bytes_each
                ELSE (SELECT sum(m.bytes) FROM unnest(o.ids) u(id) CROSS JOIN LATERAL %s m)
                END AS bytes
            FROM in_log o
            UNION ALL
            SELECT 1, i.bytes FROM acks a CROSS JOIN LATERAL slipring.item_now(a.message_id) i
            WHERE i.queue_id = $1 AND i.fence = a.fence AND i.state = 2 AND NOT EXISTS (
                SELECT FROM leases l WHERE l.fence = a.fence AND a.message_id <@ l.open))
        SELECT coalesce(sum(c.n), 0), coalesce(sum(c.bytes), 0) FROM covered c', slipring.log_row(
            slipring.live_tables(p_queue, p_state), 'o.lane', 'u.id'))
    INTO n, bytes USING p_queue.queue_id, p_state.acks;
END $$;
