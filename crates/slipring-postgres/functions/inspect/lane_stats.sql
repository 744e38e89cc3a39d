-- Purpose: what a lane of the log has ready.
-- Inputs:  p_queue, p_state; p_at, the lane's place.
-- Lock:    none; the caller's snapshot.
-- Index:   the partitions' order indexes, see store_stats.
CREATE OR REPLACE FUNCTION slipring.lane_stats(
    p_queue slipring.queue, p_state slipring.state, p_at int, OUT ready bigint,
    OUT urgent bigint, OUT bytes bigint, OUT oldest_ms bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_from text := slipring.live_tables(p_queue, p_state);
    v_range record;
    v_new record;
BEGIN
    ready := CASE WHEN p_queue.fifo THEN 0 ELSE p_state.counted[p_at] END;
    bytes := CASE WHEN p_queue.fifo THEN 0 ELSE p_state.counted_bytes[p_at] END;
    urgent := 0;
    FOR v_range IN SELECT * FROM slipring.spans(CASE WHEN p_queue.fifo
            THEN p_state.open[p_at] ELSE p_state.open[p_at] * p_state.uncounted END) LOOP
        v_new := slipring.log_count(v_from, p_state.lanes[p_at], v_range.first,
            v_range.past);
        ready := ready + v_new.n;
        urgent := urgent + v_new.urgent;
        bytes := bytes + v_new.bytes;
    END LOOP;
    IF NOT p_queue.fifo AND p_state.lanes[p_at] & {{PRIORITY_MAX}} < {{PRIORITY_DEFAULT}} THEN
        urgent := ready;
    END IF;
    oldest_ms := slipring.lane_oldest(v_from, p_state, p_at);
END $$;
