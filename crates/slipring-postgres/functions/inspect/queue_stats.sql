-- Purpose: store_stats at one moment.
-- Inputs:  p_queue as queue_hold has read it.
-- Lock:    none; one snapshot.
-- Index:   state_newest, see items_count and stats_acked; the partitions' order indexes over what
--          is ready and was sent since the last count (in FIFO queues: over what no receive has
--          looked at yet).
CREATE OR REPLACE FUNCTION slipring.queue_stats(p_queue slipring.queue)
RETURNS TABLE (ready bigint, urgent bigint, delayed bigint, leased bigint, parked bigint,
    bytes bigint, oldest_ready_ms bigint)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    v_state slipring.state := slipring.state_read(p_queue);
    v_acked record := slipring.stats_acked(p_queue, v_state);
    v_lane record;
BEGIN
    SELECT t.ready, t.urgent, t.delayed, t.leased + v_state.leased - v_acked.n, t.parked,
        t.bytes + v_state.leased_bytes - v_acked.bytes
    INTO ready, urgent, delayed, leased, parked, bytes
    FROM slipring.items_count(p_queue.queue_id) t;
    FOR v_at IN 1..cardinality(v_state.lanes) LOOP
        v_lane := slipring.lane_stats(p_queue, v_state, v_at);
        ready := ready + v_lane.ready;
        urgent := urgent + v_lane.urgent;
        bytes := bytes + v_lane.bytes;
        oldest_ready_ms := least(oldest_ready_ms, v_lane.oldest_ms);
    END LOOP;
    oldest_ready_ms := least(oldest_ready_ms, slipring.item_oldest(p_queue.queue_id));
    RETURN NEXT;
END $$;
