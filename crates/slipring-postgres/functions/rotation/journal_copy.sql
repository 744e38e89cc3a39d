-- Purpose: writes what is open of a queue to the present generation of the journal: its state and
--          its leases that are not over. All acks in the old generation are taken in.
-- Inputs:  p_queue; p_journal, the present generation; p_now_ms.
-- Lock:    the caller holds the queue's lock, so that nobody who has read an older generation is
--          still writing.
-- Index:   lease_newest, state_newest.
CREATE OR REPLACE FUNCTION slipring.journal_copy(
    p_queue slipring.queue, p_journal bigint, p_now_ms bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_state slipring.state := slipring.acks_take(p_queue, slipring.state_read(p_queue), p_now_ms);
BEGIN
    v_state.seq := v_state.seq + 1;
    v_state.journal := p_journal;
    IF p_journal > v_state.taken_journal + slipring.taken_generations() + 1 THEN
        -- Every transaction that was allowed a hand-out without the lock has ended (see taken_may), and
        -- its hand-outs are in the state that was read above.
        v_state.taken := NULL;
    END IF;
    IF v_state.leased > 0 THEN
        INSERT INTO slipring.lease
        SELECT p_journal % 3, l.queue_id, l.fence, l.part, v_state.seq, l.lane, l.deadline_ms,
            l.leased_ms, l.holder, l.n, l.bytes, l.bytes_each, l.open
        FROM slipring.lease_open(p_queue.queue_id) l WHERE l.slot <> p_journal % 3;
    END IF;
    PERFORM slipring.state_write(p_queue, v_state);
END $$;
