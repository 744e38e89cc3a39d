-- Purpose: raises the error for an ack whose lease is not there any more.
-- Inputs:  p_queue, p_message; p_fence of the receipt.
-- Lock:    none.
-- Index:   item_picture_N_newest; see log_holds.
CREATE OR REPLACE FUNCTION slipring.ack_refused(
    p_queue slipring.queue, p_message bigint, p_fence bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    -- Who asks may be the last one that it was handed to: in a FIFO queue its deadline has passed.
    v_why text := (SELECT CASE WHEN i.state <> 2 THEN 'ended' WHEN i.fence = p_fence THEN 'late'
            ELSE 'newer' END
        FROM slipring.item_now(p_message) i WHERE i.queue_id = p_queue.queue_id);
BEGIN
    IF v_why IS NULL AND slipring.log_holds(p_queue, p_message, p_fence) THEN
        v_why := 'undone';
    END IF;
    IF v_why IS NOT NULL THEN
        PERFORM slipring.fail('SR004', slipring.lease_lost(v_why),
            jsonb_build_object('message', p_message, 'queue', p_queue.name));
    END IF;
    PERFORM slipring.message_gone(p_message, p_queue.name);
END $$;
