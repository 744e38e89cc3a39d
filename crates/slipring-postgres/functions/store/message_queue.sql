-- Purpose: the queue of a message, locked; acks of users' transactions are taken in.
-- Inputs:  p_message, which it is an error not to find; p_now_ms.
-- Lock:    the lock of the queue.
-- Index:   item_picture_N_newest; see log_find.
CREATE OR REPLACE FUNCTION slipring.message_queue(p_message bigint, p_now_ms bigint)
RETURNS slipring.queue LANGUAGE plpgsql AS $$
DECLARE
    v_id int := (SELECT i.queue_id FROM slipring.item_now(p_message) i);
    v_queue slipring.queue;
BEGIN
    v_id := coalesce(v_id, (slipring.log_find(p_message)).queue);
    IF v_id IS NULL THEN
        -- It may have been moved from the log to the shelf since the first look.
        v_id := (SELECT i.queue_id FROM slipring.item_now(p_message) i);
    END IF;
    IF v_id IS NOT NULL THEN
        v_queue := slipring.queue_lock(v_id, false);
    END IF;
    IF v_queue.queue_id IS NULL THEN
        PERFORM slipring.message_gone(p_message);
    END IF;
    PERFORM slipring.acks_take(v_queue, slipring.state_read(v_queue), p_now_ms);
    RETURN v_queue;
END $$;
