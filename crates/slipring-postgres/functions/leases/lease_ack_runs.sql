-- Purpose: ends leases of the log by acks of runs of messages: all of these or none.
-- Inputs:  p_state, whose seq is the one to write: it may have been read a moment ago; runs of ids without a
--          gap between them, from p_lows to below p_highs, each with its fence; no id twice.
-- Lock:    the queue's lock.
-- Index:   lease_newest, a few steps for each fence; see taken_read.
-- Answers: the state, not written; and whether it was done: where anything else is among them,
--          nothing is.
CREATE OR REPLACE FUNCTION slipring.lease_ack_runs(
    p_queue slipring.queue, INOUT p_state slipring.state, p_lows bigint[], p_highs bigint[],
    p_fences bigint[], OUT done boolean)
LANGUAGE plpgsql AS $$
DECLARE
    v_slot int := pg_sequence_last_value('slipring.journal') % 3;
    v_n bigint;
    v_bytes bigint;
BEGIN
    WITH taken AS MATERIALIZED (
        SELECT u.fence, range_agg(int8range(u.low, u.high)) AS ids,
            sum(u.high - u.low)::bigint AS n
        FROM unnest(p_fences, p_lows, p_highs) AS u(fence, low, high) GROUP BY u.fence),
    left_over AS MATERIALIZED (
        SELECT l.fence, l.lane, l.deadline_ms, l.leased_ms, l.holder, l.bytes_each,
            l.n - t.n AS n, t.n AS acked, l.open - t.ids AS open,
            CASE WHEN l.n = t.n THEN l.bytes ELSE t.n * l.bytes_each END AS bytes_acked, l.bytes
        FROM taken t CROSS JOIN LATERAL (
            SELECT * FROM lease l
            WHERE l.queue_id = p_queue.queue_id AND l.fence = t.fence AND l.part = 0
            ORDER BY l.seq DESC LIMIT 1) l
        WHERE t.ids <@ l.open),
    whole AS MATERIALIZED (
        SELECT sum(o.acked) AS n, sum(o.bytes_acked) AS bytes FROM left_over o
        HAVING count(o.bytes_acked) = (SELECT count(*) FROM taken)),
    added AS (
        INSERT INTO slipring.lease
        SELECT v_slot, p_queue.queue_id, o.fence, 0, p_state.seq, o.lane, o.deadline_ms, o.leased_ms,
            o.holder, o.n, o.bytes - o.bytes_acked, o.bytes_each,
            CASE WHEN o.n = 0 THEN '{}' ELSE o.open END
        FROM left_over o CROSS JOIN whole)
    SELECT w.n, w.bytes INTO v_n, v_bytes FROM whole w;
    done := v_n IS NOT NULL;
    IF NOT done THEN
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM unnest(p_fences) f WHERE f <@ p_state.taken) THEN
        -- See lease_ack.
        p_state := slipring.taken_read(p_queue, p_state);
    END IF;
    p_state.leased := p_state.leased - v_n;
    p_state.leased_bytes := p_state.leased_bytes - v_bytes;
    IF p_state.leased = 0 THEN
        p_state.lapse_ms := NULL;
    END IF;
END $$;
