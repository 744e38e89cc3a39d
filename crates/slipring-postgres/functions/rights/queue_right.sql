-- Purpose: whether the caller has a right in a queue, by a grant in all queues or in that one.
-- Inputs:  p_kind: producer, consumer or admin, who has the others; p_queue.
-- Lock:    none.
-- Index:   of roles; grantee_pkey where the caller has no right in all queues.
CREATE OR REPLACE FUNCTION slipring.queue_right(p_kind text, p_queue int)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF slipring.right_in_all(('slipring.right_' || p_kind)::regtype) THEN
        RETURN true;
    END IF;
    -- For the OID of a dropped role pg_has_role answers null.
    RETURN EXISTS (SELECT FROM slipring.grantee g
        WHERE g.queue_id = p_queue AND g.kind IN (p_kind, 'admin')
            AND pg_has_role(slipring.caller(), g.role_id, 'USAGE'));
END $$;
