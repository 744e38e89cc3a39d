-- Purpose: acks the one message of a lease that a receive by SQL made without the queue's lock, by few
--          statements: see ack_queue, which does it in all cases.
-- Inputs:  p_receipt. The caller has entered the generations of the journal.
-- Lock:    the lease's lock, shared, to the end of the transaction. None for acks: there is no other
--          message of which an ack could be.
-- Index:   queue_pkey; lease_newest and ack_N_once, one step in each slot; ack's indexes grow.
-- Answers: whether it did. Else no ack is entered, though a number and the lock may be taken: the receipt is
--          wrong or that of another lease, the lease is over, the message has been acked, or a rotation is
--          under way.
CREATE OR REPLACE FUNCTION slipring.ack_single(p_receipt text)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_what text := substr(p_receipt, 4, greatest(length(p_receipt) - 36, 0));
    v_queue slipring.queue;
    v_message bigint;
    v_fence bigint;
    v_id bigint;
    v_journal bigint := pg_sequence_last_value('slipring.journal');
BEGIN
    IF NOT slipring.read_committed()
        OR pg_sequence_last_value('slipring.journal_low') < v_journal
    THEN
        RETURN false;
    END IF;
    SELECT q.* INTO v_queue FROM slipring.store s JOIN slipring.queue q ON q.queue_id
        = CASE WHEN slipring.receipt_right(s.receipt_key, p_receipt, v_what)
            THEN split_part(v_what, '.', 1)::int END;
    IF v_queue.queue_id IS NULL THEN
        RETURN false;
    END IF;
    v_message := split_part(v_what, '.', 2)::bigint;
    v_fence := split_part(v_what, '.', 3)::bigint;
    IF v_fence >= 0 THEN
        RETURN false;
    END IF;
    IF NOT slipring.right_in_all('slipring.right_consumer'::regtype) THEN
        PERFORM slipring.queue_allow('consumer', v_queue);
    END IF;
    PERFORM pg_advisory_xact_lock_shared(
        slipring.lease_key(v_queue.lock_key, v_fence, v_message));
    v_id := slipring.id_take(v_queue, 1);
    -- The generation that is written may be another one by now, and is not from here on.
    v_journal := pg_sequence_last_value('slipring.journal');
    IF pg_sequence_last_value('slipring.journal_low') < v_journal THEN
        RETURN false;
    END IF;
    INSERT INTO slipring.ack
    SELECT v_journal % 3, v_queue.queue_id, v_id + 1, v_message, v_fence
    FROM (SELECT l.seq, l.n, l.open FROM lease l
          WHERE l.queue_id = v_queue.queue_id AND l.fence = v_fence AND l.part = 0
          ORDER BY l.seq DESC LIMIT 1) l
    WHERE l.seq = 0 AND l.n = 1 AND v_message <@ l.open
        AND NOT EXISTS (SELECT FROM ack d WHERE d.fence = v_fence AND d.message_id IN (0, v_message))
    ON CONFLICT DO NOTHING;
    RETURN FOUND;
END $$;
