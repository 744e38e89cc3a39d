-- Purpose: whether the caller may receive and ack in all queues. Asked first on the way of an ack, since it is
--          inlined there; else queue_allow asks for the right in one queue.
-- Inputs:  none.
-- Lock:    none.
-- Index:   of roles. Stable like what it calls, so that it is inlined.
CREATE OR REPLACE FUNCTION slipring.consumer_of_all()
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT has_type_privilege(slipring.caller(), 'slipring.right_consumer'::regtype, 'USAGE')
$$;
