-- Purpose: the number of the advisory lock of a lease: shared by acks inside users' transactions,
--          exclusive for whoever ends the lease otherwise.
-- Inputs:  p_queue, p_fence.
-- Lock:    none; it names one.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.lease_key(p_queue int, p_fence bigint)
RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT (p_queue::bigint << 40) # p_fence
$$;
