-- Purpose: keeps everybody else from ending the leases of messages other than by an ack, to the end of the
--          transaction (lease_free); waits for those who are about to.
-- Inputs:  p_queue; p_messages with p_fences.
-- Lock:    the leases' locks, shared, in the order of their numbers. Where these are more than the transaction may
--          take: one of the queue's locks for many, exclusive, which is only tried; then each of the
--          leases' locks for a moment, since whoever has one did not see that for many (ack_many_none).
--          If none of these is free, a lock for each lease after all.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.ack_locks(
    p_queue slipring.queue, p_messages bigint[], p_fences bigint[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_keys bigint[] := ARRAY(
        SELECT DISTINCT slipring.lease_key(p_queue.lock_key, a.fence, a.message) AS key
        FROM unnest(p_messages, p_fences) AS a(message, fence) ORDER BY key);
    v_many boolean := false;
BEGIN
    IF cardinality(v_keys) >= {{LOCKS_COUNTED}} AND cardinality(v_keys) > slipring.locks_left() THEN
        -- Others look at both for moments all the time.
        FOR v_try IN 1..40 LOOP
            v_many := pg_try_advisory_xact_lock(
                slipring.ack_many_key(p_queue.lock_key, 1 + v_try % 2));
            EXIT WHEN v_many;
            PERFORM pg_sleep(0.001);
        END LOOP;
    END IF;
    IF NOT v_many THEN
        PERFORM pg_advisory_xact_lock_shared(k) FROM unnest(v_keys) k;
        RETURN;
    END IF;
    FOR v_at IN 1..cardinality(v_keys) BY {{LOCKS_COUNTED}} LOOP
        BEGIN
            PERFORM pg_advisory_xact_lock_shared(k)
            FROM unnest(v_keys[v_at:v_at + {{LOCKS_COUNTED}} - 1]) k;
            -- A block that fails gives its locks back.
            RAISE EXCEPTION USING ERRCODE = 'SR100';
        EXCEPTION WHEN SQLSTATE 'SR100' THEN
            NULL;
        END;
    END LOOP;
END $$;
