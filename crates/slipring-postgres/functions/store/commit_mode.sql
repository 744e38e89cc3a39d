-- Purpose: makes the commit of this transaction wait for its flush or not, as the queue's
--          durability says.
-- Inputs:  p_relaxed.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.commit_mode(p_relaxed boolean)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_now text := current_setting('synchronous_commit');
BEGIN
    IF p_relaxed AND v_now <> 'off' THEN
        PERFORM set_config('synchronous_commit', 'off', true);
    ELSIF NOT p_relaxed AND v_now = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
END $$;
