-- Purpose: acks all messages of one lease of several that a receive by SQL made without the queue's lock,
--          by few statements: see ack_queue, which does it in all cases.
-- Inputs:  p_receipts. The caller has entered the generations of the journal.
-- Lock:    the lease's lock for acks, exclusively, to the end of the transaction. A nack and a lapse try the
--          same lock, see lease_free.
-- Index:   queue_pkey; lease_newest and ack_N_once, one step in each slot; ack's indexes grow.
-- Answers: how many. Null where no ack is entered, though a number and the lock may be taken: a receipt is
--          wrong, stands twice or is that of another lease, the lease is over or has more messages, some
--          have been acked, or a rotation is under way.
CREATE OR REPLACE FUNCTION slipring.ack_lease(p_receipts text[])
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_key bytea := (SELECT s.receipt_key FROM slipring.store s);
    v_journal bigint := pg_sequence_last_value('slipring.journal');
    v_named record;
    v_ids int8multirange;
    v_queue slipring.queue;
    v_id bigint;
BEGIN
    -- An older snapshot cannot tell whether others have acked messages of the lease since.
    IF NOT slipring.read_committed()
        OR pg_sequence_last_value('slipring.journal_low') < v_journal
    THEN
        RETURN NULL;
    END IF;
    -- Parts of receipts are compared as they are written, which is in one way.
    SELECT min(w.queue) AS queue, min(w.fence)::bigint AS fence,
        array_agg(w.message::bigint) AS messages INTO v_named
    FROM (SELECT split_part(w.what, '.', 1) AS queue, split_part(w.what, '.', 2) AS message,
            split_part(w.what, '.', 3) AS fence
          FROM slipring.receipt_parts(p_receipts) w
          WHERE slipring.receipt_right(v_key, w.receipt, w.what) OFFSET 0) w
    HAVING count(*) = cardinality(p_receipts) AND min(w.queue) = max(w.queue)
        AND min(w.fence) = max(w.fence);
    IF v_named.fence IS NULL OR v_named.fence >= 0 THEN
        RETURN NULL;
    END IF;
    SELECT * INTO v_queue FROM slipring.queue q WHERE q.queue_id = v_named.queue::int;
    IF v_queue.queue_id IS NULL THEN
        RETURN NULL;
    ELSIF NOT slipring.right_in_all('slipring.right_consumer'::regtype) THEN
        PERFORM slipring.queue_allow('consumer', v_queue);
    END IF;
    -- An ack of only some messages of the lease must not take its lock for acks exclusively: acks of
    -- the others would wait for it.
    PERFORM FROM lease l WHERE l.queue_id = v_queue.queue_id AND l.fence = v_named.fence AND l.part = 0
        AND l.seq = 0 AND l.n = cardinality(p_receipts);
    v_ids := (SELECT range_agg(int8range(m, m + 1)) FROM unnest(v_named.messages) m);
    IF NOT FOUND OR (SELECT sum(upper(r) - lower(r)) FROM unnest(v_ids) r) < cardinality(p_receipts)
    THEN
        RETURN NULL;
    END IF;
    PERFORM pg_advisory_xact_lock(slipring.ack_key(v_queue.lock_key, v_named.fence));
    v_id := slipring.id_take(v_queue, 1);
    -- The generation that is written may be another one by now, and is not from here on.
    v_journal := pg_sequence_last_value('slipring.journal');
    IF pg_sequence_last_value('slipring.journal_low') < v_journal THEN
        RETURN NULL;
    END IF;
    -- By its lock no other transaction acks a message of the lease or ends the lease from here on.
    INSERT INTO slipring.ack
    SELECT v_journal % 3, v_queue.queue_id, v_id + 1, 0, v_named.fence, v_ids
    FROM (SELECT l.seq, l.n, l.open FROM lease l
          WHERE l.queue_id = v_queue.queue_id AND l.fence = v_named.fence AND l.part = 0
          ORDER BY l.seq DESC LIMIT 1) l
    WHERE l.seq = 0 AND l.n = cardinality(p_receipts) AND v_ids <@ l.open
        AND NOT EXISTS (SELECT FROM ack d WHERE d.fence = v_named.fence AND d.queue_id = v_queue.queue_id)
    ON CONFLICT DO NOTHING;
    RETURN CASE WHEN FOUND THEN cardinality(p_receipts) END;
END $$;
