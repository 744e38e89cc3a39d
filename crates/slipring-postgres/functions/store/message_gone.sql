-- Purpose: raises the error for a message that has left its queue (S3.5).
-- Inputs:  p_message; p_queue, the queue's name, or null where it is not told.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.message_gone(p_message bigint, p_queue text DEFAULT NULL)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM slipring.fail('SR003', format('message %s is not in the queue any more', p_message),
        jsonb_strip_nulls(jsonb_build_object('message', p_message, 'queue', p_queue)));
END $$;
