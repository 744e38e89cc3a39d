-- Purpose: what a queue holds.
-- Inputs:  p_queue, p_now_ms.
-- Lock:    none; one snapshot.
-- Index:   state_newest, see items_count; the partitions' order indexes over what is ready and was
--          sent since the last count (in FIFO queues: over what no receive has looked at yet).
CREATE OR REPLACE FUNCTION slipring.store_stats(p_queue int, p_now_ms bigint)
RETURNS TABLE (ready bigint, urgent bigint, delayed bigint, leased bigint, parked bigint,
    bytes bigint, oldest_ready_ms bigint)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    v_queue slipring.queue;
    v_state slipring.state;
    v_lane record;
BEGIN
    SELECT * INTO v_queue FROM slipring.queue q WHERE q.queue_id = p_queue;
    IF v_queue.queue_id IS NULL THEN
        PERFORM slipring.fail('SR001', format('queue %s does not exist', p_queue),
            jsonb_build_object('queue', p_queue));
    END IF;
    v_state := slipring.state_read(v_queue);
    SELECT t.ready, t.urgent, t.delayed, t.leased + v_state.leased, t.parked,
        t.bytes + v_state.leased_bytes
    INTO ready, urgent, delayed, leased, parked, bytes FROM slipring.items_count(p_queue) t;
    -- Acks by SQL that no verb has taken in yet; their bytes still count.
    leased := leased - (SELECT count(*) FROM slipring.acks_in(p_queue, v_state.acks));
    FOR v_at IN 1..cardinality(v_state.lanes) LOOP
        v_lane := slipring.lane_stats(v_queue, v_state, v_at);
        ready := ready + v_lane.ready;
        urgent := urgent + v_lane.urgent;
        bytes := bytes + v_lane.bytes;
        oldest_ready_ms := least(oldest_ready_ms, v_lane.oldest_ms);
    END LOOP;
    oldest_ready_ms := least(oldest_ready_ms, slipring.item_oldest(p_queue));
    RETURN NEXT;
END $$;
