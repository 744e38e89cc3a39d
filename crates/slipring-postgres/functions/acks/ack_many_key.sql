-- Purpose: the number of an advisory lock of a queue for acks of so many leases at once that a lock for each would
--          be too many, see ack_locks and ack_many_none.
-- Inputs:  p_lock_key, the queue's secret; p_n, which of them: 1 or 2.
-- Lock:    none; it names one.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.ack_many_key(p_lock_key bigint, p_n int)
RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT hashint8extended(-p_n, p_lock_key)
$$;
