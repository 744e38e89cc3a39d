-- Purpose: raises the error for an ack whose lease is not there any more.
-- Inputs:  p_queue, p_message.
-- Lock:    none.
-- Index:   item_picture_N_newest; see log_holds.
CREATE OR REPLACE FUNCTION slipring.ack_refused(p_queue slipring.queue, p_message bigint)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM slipring.item_now(p_message) i
            WHERE i.queue_id = p_queue.queue_id) OR slipring.log_holds(p_queue, p_message) THEN
        PERFORM slipring.fail('SR004', 'the lease of the message is lost: its deadline has '
            'passed, or another hand-out is newer', jsonb_build_object('message', p_message));
    END IF;
    PERFORM slipring.message_gone(p_message);
END $$;
