-- Purpose: makes one parked or delayed message ready (S6.6).
-- Inputs:  p_message, p_now_ms.
-- Lock:    the lock of the queue it is in.
-- Index:   item_picture_N_newest; see log_find.
-- Answers: its queue.
CREATE OR REPLACE FUNCTION slipring.store_kick_message(p_message bigint, p_now_ms bigint)
RETURNS int LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
SET search_path = pg_catalog, slipring, pg_temp AS $$
DECLARE
    v_queue slipring.queue := slipring.message_queue(p_message, p_now_ms);
BEGIN
    IF NOT EXISTS (SELECT FROM slipring.item_now(p_message) i
            WHERE i.queue_id = v_queue.queue_id AND i.state IN (0, 3)) THEN
        PERFORM slipring.fail('SR008',
            format('message %s is neither parked nor delayed', p_message),
            jsonb_build_object('message', p_message));
    END IF;
    PERFORM slipring.item_set(v_queue, ARRAY[p_message], ARRAY[1], NULL,
        p_before => slipring.fifo_known(v_queue));
    RETURN v_queue.queue_id;
END $$;
