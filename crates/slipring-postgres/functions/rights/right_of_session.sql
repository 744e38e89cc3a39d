-- Purpose: whether the session's role has a right in all queues, where a role is confined to a queue. Refuses a
--          call from an index or a materialized view of one role in the session of another (42501).
-- Inputs:  p_type, see right_in_all.
-- Lock:    none.
-- Index:   of roles.
CREATE OR REPLACE FUNCTION slipring.right_of_session(p_type regtype)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    -- PostgreSQL runs such a call as a security-restricted operation, and refuses an UNLISTEN there and
    -- nowhere else. It does nothing otherwise: nothing listens to that name.
    UNLISTEN slipring_right_of_session;
    RETURN has_type_privilege(slipring.caller(), p_type, 'USAGE');
END $$;
