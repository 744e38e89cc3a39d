-- Purpose: keeps the ready messages of a lane few runs of numbers, out of which single messages have been taken:
--          the state is written whole by each verb. Runs without a message are dropped, and the messages
--          of short ones go to the shelf: not of a FIFO queue, which takes them there in its order, and not
--          where users receive without the queue's lock, which they cannot of the shelf.
-- Inputs:  p_queue; p_state, to be written by the caller; p_lane.
-- Lock:    the caller holds the queue's lock.
-- Index:   the partitions' order indexes, one range for each of up to LANE_TRIM runs; see log_to_items.
-- Answers: the state, not written.
CREATE OR REPLACE FUNCTION slipring.lane_trim(
    p_queue slipring.queue, p_state slipring.state, p_lane bigint)
RETURNS slipring.state LANGUAGE plpgsql AS $$
DECLARE
    v_at int := array_position(p_state.lanes, p_lane);
    v_done int8multirange;
    v_runs int8multirange;
    v_left record;
    v_n int;
BEGIN
    IF (SELECT count(*) FROM unnest(p_state.open[v_at])) <= {{LANE_RUNS_MAX}} THEN
        RETURN p_state;
    END IF;
    -- In the other runs somebody may still write.
    v_done := slipring.cut(p_queue.xid_base);
    SELECT range_agg(r) INTO v_runs FROM (
        SELECT r FROM unnest(p_state.open[v_at]) r WHERE r <@ v_done
        ORDER BY upper(r) - lower(r) LIMIT {{LANE_TRIM}}) s;
    EXECUTE format('SELECT range_agg(t.r) AS runs, array_agg(t.id ORDER BY t.id) FILTER (WHERE t.id > 0) AS ids,
            array_agg(t.bytes ORDER BY t.id) FILTER (WHERE t.id > 0) AS sizes
        FROM (SELECT t.*, count(t.id) OVER w AS n_sum, sum(t.bytes) OVER w AS bytes_sum
            FROM (SELECT r, m.id, m.bytes, count(m.id) OVER (PARTITION BY r) AS n
                FROM unnest($2) r LEFT JOIN LATERAL (SELECT m.id, m.bytes FROM %s m
                    LIMIT {{PICTURES_STEP}} + 1) m ON true) t
            WINDOW w AS (ORDER BY t.n, lower(t.r) RANGE UNBOUNDED PRECEDING)) t
        WHERE t.n_sum <= CASE WHEN $3 THEN 0 ELSE {{PICTURES_STEP}} END
            AND coalesce(t.bytes_sum, 0) <= {{TURN_BYTES_MAX}}',
        slipring.log_rows(slipring.live_tables(p_queue, p_state), '$1', 'lower(r)', 'upper(r)'))
    INTO v_left USING p_lane, v_runs, p_queue.fifo OR p_state.taken IS NOT NULL;
    IF v_left.runs IS NULL THEN
        RETURN p_state;
    END IF;
    p_state.open[v_at] := p_state.open[v_at] - v_left.runs;
    v_n := cardinality(v_left.ids);
    IF v_n > 0 THEN
        p_state := slipring.state_uncount(p_state, v_at, v_left.ids, v_left.sizes);
        PERFORM slipring.log_to_items(slipring.live_tables(p_queue, p_state), p_queue,
            array_fill(p_lane, ARRAY[v_n]), v_left.ids, array_fill(1, ARRAY[v_n]), NULL, NULL,
            array_fill(0::bigint, ARRAY[v_n]), array_fill(0::bigint, ARRAY[v_n]), NULL, NULL, NULL);
    END IF;
    RETURN p_state;
END $$;
