-- Purpose: refuses an ack in a transaction whose snapshot may not show what became of its lease
--          (40001), and has those who end leases from now on leave rows that such acks meet.
-- Inputs:  p_queue.
-- Lock:    the caller holds the leases' locks: none of these leases can be ended before the caller's
--          transaction is over.
-- Index:   state_newest.
-- Answers: the generation of the journal from which on the snapshot has leases: what others have
--          entered for them since may be in it, and nowhere else.
CREATE OR REPLACE FUNCTION slipring.ack_older(p_queue slipring.queue)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_now_ms bigint := slipring.now_ms();
    v_seen pg_snapshot := pg_current_snapshot();
    -- Below zero where a dump was restored since.
    v_ended bigint := CASE WHEN p_queue.endings IS NULL THEN slipring.endings_row(p_queue.queue_id)
        ELSE greatest(pg_sequence_last_value(p_queue.endings) - p_queue.xid_base, 0) END;
    v_copied bigint := (slipring.state_newest(p_queue.queue_id)).journal;
    v_told bigint;
BEGIN
    IF v_now_ms > pg_sequence_last_value('slipring.older_acks') + 60000 THEN
        v_told := setval('slipring.older_acks', v_now_ms);
    END IF;
    -- A table of the journal that this snapshot would read may have been emptied: its leases were
    -- copied, and it does not see the copies. The state has been read: none is emptied from now on.
    IF v_copied < pg_sequence_last_value('slipring.journal_low')
            AND pg_relation_size(format('slipring.state_%s', v_copied % 3)::regclass) = 0
        OR v_copied < pg_sequence_last_value('slipring.journal_low') - 1
        OR p_queue.endings IS NULL AND v_ended >= pg_snapshot_xmin(v_seen)::text::bigint
        OR p_queue.endings IS NOT NULL
            AND NOT pg_visible_in_snapshot(v_ended::text::xid8, v_seen) THEN
        RAISE EXCEPTION USING ERRCODE = '40001', MESSAGE = 'leases of the queue have ended '
            'since the transaction''s snapshot; try the transaction again';
    END IF;
    RETURN v_copied;
END $$;
