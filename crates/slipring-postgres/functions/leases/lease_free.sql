-- Purpose: whether no open transaction has acked a message, for who ends its lease otherwise and keeps the
--          message, be it in the log or on the shelf, where a rotation may have moved it since; keeps it so.
-- Inputs:  p_queue; p_fence, p_message.
-- Lock:    both are tried, to the end of the transaction: the lease's lock for acks, shared, where an ack of
--          all of it may have no other (ack_lease: of leases of several messages of receives by SQL), and
--          the message's; then see ack_many_none. See locks_fit for many.
-- Index:   see lease_single. Volatile like what it calls, so that it is inlined.
CREATE OR REPLACE FUNCTION slipring.lease_free(
    p_queue slipring.queue, p_fence bigint, p_message bigint)
RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT CASE WHEN p_fence >= 0 OR slipring.lease_single(p_queue.queue_id, p_fence)
        OR pg_try_advisory_xact_lock_shared(slipring.ack_key(p_queue.lock_key, p_fence))
    THEN CASE
        WHEN pg_try_advisory_xact_lock(slipring.lease_key(p_queue.lock_key, p_fence, p_message))
        THEN slipring.ack_many_none(p_queue.lock_key) ELSE false END
    ELSE false END
$$;
