-- Purpose: hands out one given message that nobody holds, in whatever state it is.
-- Inputs:  p_queue, p_message; lease or null; whether the lease ends with the process; p_holder,
--          the process; p_now_ms; p_waited_ms in earlier tries, see waited_ms.
-- Lock:    the queue's lock.
-- Index:   item_picture_N_newest; see log_cut_out, lane_trim.
CREATE OR REPLACE FUNCTION slipring.store_claim_message(
    p_queue int, p_message bigint, p_lease_ms bigint, p_session boolean, p_holder bigint,
    p_now_ms bigint, p_waited_ms bigint DEFAULT 0)
RETURNS TABLE (demand int, id bigint, fence bigint, deadline_ms bigint, sent_ms bigint,
    priority bigint, attempts bigint, first_received_ms bigint, delay_ms bigint, lease_ms bigint,
    group_name text, dedup_id text, headers text, source text, body bytea, end_kind text)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
SET search_path = pg_catalog, slipring, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_began timestamptz := clock_timestamp();
    v_queue slipring.queue := slipring.queue_lock(p_queue);
    v_state slipring.state := slipring.state_read(v_queue);
    v_before bigint;
    v_item record;
    v_cut record;
BEGIN
    p_now_ms := p_now_ms + slipring.waited_ms(v_began, p_waited_ms);
    v_state := slipring.acks_take(v_queue, v_state, p_now_ms);
    IF v_queue.fifo THEN
        v_state := slipring.fifo_bring_in(v_queue, v_state, 0);
        v_before := slipring.fifo_before(v_queue, v_state, slipring.cut(v_queue.xid_base));
    END IF;
    v_state.seq := v_state.seq + 1;
    SELECT i.state, i.fence, i.queue_id INTO v_item
    FROM slipring.item_now(p_message) i;
    IF v_item.state IS NULL THEN
        v_cut := slipring.log_cut_out(v_queue, v_state, p_message);
        PERFORM slipring.log_to_items(slipring.live_tables(v_queue, v_state), v_queue,
            ARRAY[v_cut.lane], ARRAY[p_message], ARRAY[1], NULL, NULL, ARRAY[0::bigint],
            ARRAY[0::bigint], NULL, NULL, NULL);
        v_state := slipring.lane_trim(v_queue, v_cut.p_state, v_cut.lane);
    ELSIF v_item.queue_id <> p_queue THEN
        PERFORM slipring.message_gone(p_message);
    ELSIF v_item.state = 2 THEN
        PERFORM slipring.message_held(p_message);
    END IF;
    v_state.fence := greatest(v_state.fence, v_item.fence, slipring.fence_least(p_now_ms)) + 1;
    PERFORM slipring.state_write(v_queue, v_state);
    RETURN QUERY SELECT * FROM slipring.item_hand_out(v_queue, p_now_ms, ARRAY[p_message],
        ARRAY[0], v_state.fence, ARRAY[p_lease_ms], ARRAY[p_session], p_holder, NULL,
        v_before);
END $$;
