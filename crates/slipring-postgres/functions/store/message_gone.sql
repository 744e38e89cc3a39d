-- Purpose: raises the error for a message that has left its queue (S3.5).
-- Inputs:  p_message.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.message_gone(p_message bigint)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM slipring.fail('SR003', format('message %s is not in the queue any more', p_message),
        jsonb_build_object('message', p_message));
END $$;
