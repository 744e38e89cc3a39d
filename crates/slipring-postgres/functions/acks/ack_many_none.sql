-- Purpose: whether no open transaction has acked messages of a queue with one lock for all of them, see ack_locks.
-- Inputs:  p_lock_key, the queue's secret.
-- Lock:    each ack_many_key, shared, and at once given back: locks of the session, since those of a transaction
--          stay to its end. The caller has the message's lock (lease_free), and who acks many looks at
--          that one after it has got its own: one of the two sees the other.
-- Index:   none. Volatile like what it calls, so that it is inlined.
CREATE OR REPLACE FUNCTION slipring.ack_many_none(p_lock_key bigint)
RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT CASE WHEN pg_try_advisory_lock_shared(slipring.ack_many_key(p_lock_key, 1))
        THEN pg_advisory_unlock_shared(slipring.ack_many_key(p_lock_key, 1)) ELSE false END
    AND CASE WHEN pg_try_advisory_lock_shared(slipring.ack_many_key(p_lock_key, 2))
        THEN pg_advisory_unlock_shared(slipring.ack_many_key(p_lock_key, 2)) ELSE false END
$$;
