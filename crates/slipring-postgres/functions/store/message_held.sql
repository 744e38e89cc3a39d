-- Purpose: raises the error for a message that somebody holds.
-- Inputs:  p_message.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.message_held(p_message bigint)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM slipring.fail('SR008', format('message %s is in somebody''s hands', p_message),
        jsonb_build_object('message', p_message));
END $$;
