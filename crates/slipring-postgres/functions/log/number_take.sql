-- Purpose: reserves the next of the numbers that this transaction has for its messages and acks.
-- Inputs:  p_queue, the name, for errors; p_new, whether the transaction had no number before; p_count, how
--          many. It has its number by now.
-- Lock:    an advisory lock, which marks that this transaction has taken numbers. It is tried, never waited for, see
--          transaction_key. The session's sequence, shared. Both to the end of the transaction.
-- Index:   store_pkey; where the session has no value of its sequence, it reads pg_locks.
-- Answers: the first one, from 1 on. What was given last is remembered as the value that this session has set
--          its sequence to: no caller can set that, nor go back to an older one (decision 0037). A savepoint
--          that is rolled back does not give numbers back.
CREATE OR REPLACE FUNCTION slipring.number_take(p_queue text, p_new boolean, p_count int)
RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    v_numbers regclass := slipring.numbers();
    v_base bigint := pg_current_xact_id()::text::bigint << {{XID_SHIFT}};
    v_been bigint := (SELECT slipring.transaction_key(s.receipt_key, 'numbers') FROM slipring.store s);
    v_last bigint;
    v_next int := 1;
    v_told bigint;
BEGIN
    IF NOT p_new THEN
        BEGIN
            v_last := currval(v_numbers);
        EXCEPTION WHEN object_not_in_prerequisite_state THEN
            -- The session has not been here yet, or has called DISCARD SEQUENCES since.
            IF EXISTS (SELECT FROM pg_locks l WHERE l.pid = pg_backend_pid() AND l.locktype = 'advisory'
                AND l.objsubid = 1 AND (l.classid::bigint << 32) + l.objid::bigint = v_been)
            THEN
                RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state', MESSAGE = format(
                    'queue %s: this transaction has sent messages and discarded its sequences since',
                    p_queue), HINT = 'Call DISCARD SEQUENCES between transactions only.';
            END IF;
        END;
        IF v_last >= v_base THEN
            v_next := v_last - v_base + 1;
        END IF;
    END IF;
    IF v_next + p_count > {{XID_NUMBERS}} THEN
        PERFORM slipring.fail_limit(p_queue, 'transaction_messages_max', {{XID_MESSAGES_MAX}},
            v_next - 1 + p_count);
    END IF;
    IF NOT pg_try_advisory_xact_lock_shared(v_been) THEN
        -- pg_locks has shown it, and a savepoint that was rolled back has let go of it.
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state', MESSAGE = format(
            'queue %s: another session holds the advisory lock with which this transaction notes that it has '
            'sent messages', p_queue), HINT = 'Send again in another transaction.';
    END IF;
    v_told := setval(v_numbers, v_base + v_next + p_count - 1);
    RETURN v_next;
END $$;
