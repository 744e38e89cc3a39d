-- Purpose: whether the caller has a right in all queues.
-- Inputs:  p_type, the type of the right, see right_change.
-- Lock:    none.
-- Index:   of roles. Inlined, so that a call costs one look-up while no role is confined to a queue.
CREATE OR REPLACE FUNCTION slipring.right_in_all(p_type regtype)
RETURNS boolean LANGUAGE sql AS $$
    SELECT has_type_privilege('public'::name, p_type, 'USAGE') OR slipring.right_of_session(p_type)
$$;
