-- Purpose: store_settle where every entry is an ack of a message in its first hands: all of them
--          at once, by ranges.
-- Inputs:  p_queue; runs of ids without a gap between them, from p_lows to below p_highs, each
--          with its fence; no id twice.
-- Lock:    the queue's lock.
-- Index:   queue_pkey, state_newest, lease_newest, a few steps for each fence.
-- Answers: whether it was done, and what commit_defer answers; where anything else is among them,
--          nothing is done, and store_settle has to look entry by entry.
CREATE OR REPLACE FUNCTION slipring.store_ack(
    p_queue int, p_lows bigint[], p_highs bigint[], p_fences bigint[],
    OUT done boolean, OUT flush text)
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
SET search_path = pg_catalog, slipring, pg_temp AS $$
DECLARE
    v_queue slipring.queue := slipring.queue_lock(p_queue, false);
    v_slot int := pg_sequence_last_value('slipring.journal') % 3;
    v_state slipring.state;
    v_n bigint;
    v_bytes bigint;
BEGIN
    done := false;
    IF v_queue.queue_id IS NULL THEN
        RETURN;
    END IF;
    v_state := slipring.state_read(v_queue);
    IF slipring.acks_wait(v_queue, v_state) THEN
        RETURN;
    END IF;
    v_state.seq := v_state.seq + 1;
    WITH taken AS MATERIALIZED (
        SELECT u.fence, range_agg(int8range(u.low, u.high)) AS ids,
            sum(u.high - u.low)::bigint AS n
        FROM unnest(p_fences, p_lows, p_highs) AS u(fence, low, high) GROUP BY u.fence),
    left_over AS MATERIALIZED (
        SELECT l.fence, l.lane, l.deadline_ms, l.leased_ms, l.holder, l.bytes_each,
            l.n - t.n AS n, t.n AS acked, l.open - t.ids AS open,
            CASE WHEN l.n = t.n THEN l.bytes ELSE t.n * l.bytes_each END AS bytes_acked, l.bytes
        FROM taken t CROSS JOIN LATERAL (
            SELECT * FROM slipring.lease l
            WHERE l.queue_id = p_queue AND l.fence = t.fence AND l.part = 0
            ORDER BY l.seq DESC LIMIT 1) l
        WHERE t.ids <@ l.open),
    whole AS MATERIALIZED (
        SELECT sum(o.acked) AS n, sum(o.bytes_acked) AS bytes FROM left_over o
        HAVING count(o.bytes_acked) = (SELECT count(*) FROM taken)),
    added AS (
        INSERT INTO slipring.lease
        SELECT v_slot, p_queue, o.fence, 0, v_state.seq, o.lane, o.deadline_ms, o.leased_ms,
            o.holder, o.n, o.bytes - o.bytes_acked, o.bytes_each,
            CASE WHEN o.n = 0 THEN '{}' ELSE o.open END
        FROM left_over o CROSS JOIN whole)
    SELECT w.n, w.bytes INTO v_n, v_bytes FROM whole w;
    IF v_n IS NULL THEN
        RETURN;
    END IF;
    v_state.leased := v_state.leased - v_n;
    v_state.leased_bytes := v_state.leased_bytes - v_bytes;
    IF v_state.leased = 0 THEN
        v_state.lapse_ms := NULL;
    END IF;
    flush := slipring.commit_defer(v_queue.relaxed);
    PERFORM slipring.state_write(v_queue, v_state);
    done := true;
END $$;
