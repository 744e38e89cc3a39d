-- Purpose: the number of the advisory lock of a lease for acks, see ack_whole and lease_free.
-- Inputs:  p_lock_key, the queue's secret; p_fence.
-- Lock:    none; it names one.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.ack_key(p_lock_key bigint, p_fence bigint)
RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT hashint8extended(p_fence, ~p_lock_key)
$$;
