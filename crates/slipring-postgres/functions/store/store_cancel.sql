-- Purpose: removes one message that nobody holds (S4.2).
-- Inputs:  p_message, p_now_ms.
-- Lock:    the lock of the queue it is in.
-- Index:   item_picture_N_newest; see log_find, lane_trim.
-- Answers: the queue it was in.
CREATE OR REPLACE FUNCTION slipring.store_cancel(p_message bigint, p_now_ms bigint)
RETURNS int LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
SET search_path = pg_catalog, slipring, pg_temp AS $$
DECLARE
    v_queue slipring.queue := slipring.message_queue(p_message, p_now_ms);
    v_state slipring.state := slipring.state_read(v_queue);
    v_at smallint;
    v_cut record;
BEGIN
    SELECT i.state INTO v_at FROM slipring.item_now(p_message) i
    WHERE i.queue_id = v_queue.queue_id;
    IF v_at = 2 THEN
        PERFORM slipring.message_held(p_message);
    ELSIF v_at IS NOT NULL THEN
        PERFORM slipring.item_remove(v_queue, ARRAY[p_message]);
    ELSE
        v_cut := slipring.log_cut_out(v_queue, v_state, p_message);
        v_state := slipring.lane_trim(v_queue, v_cut.p_state, v_cut.lane);
        v_state.seq := v_state.seq + 1;
        PERFORM slipring.state_write(v_queue, v_state);
    END IF;
    RETURN v_queue.queue_id;
END $$;
