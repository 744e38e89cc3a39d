-- Purpose: raises the error of a settlement or prolongation by SQL, if there is one.
-- Inputs:  p_error, p_message, p_context as store_settle answers them.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.lease_check(p_error text, p_message text, p_context jsonb)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF p_error IS NOT NULL THEN
        PERFORM slipring.fail(CASE p_error WHEN 'message_gone' THEN 'SR003' ELSE 'SR004' END,
            p_message, p_context);
    END IF;
END $$;
