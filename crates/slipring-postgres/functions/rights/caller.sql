-- Purpose: the role for which rights in a queue are looked up: that which the session has been set to,
--          else that which has connected. It may set itself only to roles of which it is a member.
-- Inputs:  none.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.caller()
RETURNS name LANGUAGE sql STABLE AS $$
    SELECT CASE current_setting('role') WHEN 'none' THEN session_user
        ELSE current_setting('role')::name END
$$;
