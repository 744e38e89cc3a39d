-- Purpose: whether a user's transaction has acked a message in the hands of a fence. Who ends a
--          lease otherwise asks once it has the lease's lock: what has committed before is seen by
--          this statement, though it came after acks_take.
-- Inputs:  p_message, p_fence.
-- Lock:    the caller holds the lease's lock, see lease_key.
-- Index:   ack_N_once, two steps in each slot.
CREATE OR REPLACE FUNCTION slipring.acked(p_message bigint, p_fence bigint)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM ack a
        WHERE a.fence = p_fence AND a.message_id IN (0, p_message)
            AND (a.message_id > 0 OR p_message <@ a.ids));
END $$;
