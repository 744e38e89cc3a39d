-- Purpose: notes that leases have ended other than by ack, so that an ack in a transaction with an older
--          snapshot, which does not see it, fails. While there are such acks (see ack_older): a row
--          for each lease, which the ack meets in a unique index. Else, where there are many leases, and
--          where an ack of one is open, whose row would be waited for: the number of this transaction, for
--          the queue.
-- Inputs:  p_queue; p_fences of the leases, or null for those of the whole queue.
-- Lock:    the caller holds the queue's lock and those of the leases; the leases' locks for acks are
--          tried, see ack_whole.
-- Index:   ack's grow by an entry for each lease.
CREATE OR REPLACE FUNCTION slipring.endings_note(p_queue slipring.queue, p_fences bigint[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_now bigint := pg_sequence_last_value('slipring.journal');
BEGIN
    IF (SELECT count(DISTINCT f) FROM unnest(p_fences) f) BETWEEN 1 AND {{LOCKS_COUNTED}}
        AND slipring.now_ms() < pg_sequence_last_value('slipring.older_acks') + {{OLDER_ACKS_MS}}
        AND (SELECT bool_and(pg_try_advisory_xact_lock(slipring.ack_key(p_queue.lock_key, f)))
             FROM (SELECT DISTINCT f FROM unnest(p_fences) f) f) THEN
        -- As ack_queue does: whichever of the two generations the ack knows, it meets the row.
        INSERT INTO slipring.ack
        SELECT g % 3, p_queue.queue_id, -1, 0, f, '{}'
        FROM generate_series(greatest(pg_sequence_last_value('slipring.journal_low'), v_now - 1),
            v_now) g, (SELECT DISTINCT f FROM unnest(p_fences) f) f
        ON CONFLICT DO NOTHING;
    ELSIF p_queue.endings IS NULL THEN
        PERFORM FROM slipring.lock_row l WHERE l.queue_id = p_queue.queue_id AND l.kind = 1 FOR UPDATE;
    ELSE
        PERFORM setval(p_queue.endings, pg_current_xact_id()::text::bigint + p_queue.xid_base);
    END IF;
END $$;
