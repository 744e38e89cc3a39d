-- Purpose: raises an error of the store with its kind as SQLSTATE and its facts as DETAIL.
-- Inputs:  p_state SR001 to SR010, p_message for people, p_context a JSON object.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.fail(p_state text, p_message text, p_context jsonb)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = p_state, MESSAGE = p_message, DETAIL = p_context::text;
END $$;
