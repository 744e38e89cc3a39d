-- Purpose: writes what is open of a queue to the present generation of the journal: its leases that are
--          not over, so many at a time, and its state. All acks in the old generation are taken in.
-- Inputs:  p_queue; p_journal, the present generation; p_now_ms.
-- Lock:    the caller holds the queue's lock, so that nobody who has read an older generation is
--          still writing. Whatever happens to a lease after it was copied is written to the present
--          generation too.
-- Index:   lease_newest, at most LEASES_STEP steps; mark_newest, of kind 11: the last lease that was looked
--          at, and of which generation; state_newest.
-- Answers: whether all is copied; the state names the present generation then.
CREATE OR REPLACE FUNCTION slipring.journal_copy(
    p_queue slipring.queue, p_journal bigint, p_now_ms bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_acks record := slipring.acks_turn(p_queue, p_now_ms, clock_timestamp());
    v_state slipring.state := v_acks.state;
    v_copied slipring.mark := slipring.mark_read(p_queue.queue_id, 11);
    v_generation int8multirange := int8multirange(int8range(p_journal, p_journal + 1));
    v_walk int8multirange;
    v_last record;
BEGIN
    IF NOT v_acks.done THEN
        RETURN false;
    END IF;
    v_state.seq := v_state.seq + 1;
    IF v_state.leased > 0 THEN
        IF v_copied.unseen <> v_generation THEN
            v_copied.turn := {{BIGINT_MIN}};
            v_copied.id := v_copied.turn;
        END IF;
        v_walk := slipring.leases_walk(p_queue.queue_id)
            * int8multirange(int8range(v_copied.turn, NULL));
        WITH walked AS MATERIALIZED (
            SELECT l.* FROM slipring.leases_in(p_queue.queue_id, v_walk) l
            WHERE (l.fence, l.part) > (v_copied.turn, v_copied.id) LIMIT {{LEASES_STEP}}),
        copied AS (
            INSERT INTO slipring.lease
            SELECT p_journal % 3, l.queue_id, l.fence, l.part, v_state.seq, l.lane, l.deadline_ms,
                l.leased_ms, l.holder, l.n, l.bytes, l.bytes_each, l.open
            FROM walked l WHERE l.n > 0 AND l.slot <> p_journal % 3)
        SELECT w.fence, w.part INTO v_last FROM walked w
        ORDER BY w.fence, w.part LIMIT 1 OFFSET {{LEASES_STEP}} - 1;
        IF v_last.fence IS NOT NULL THEN
            PERFORM slipring.state_write(p_queue, v_state);
            INSERT INTO slipring.mark (slot, queue_id, kind, seq, turn, id, unseen)
            VALUES (slipring.shelf_slot(), p_queue.queue_id, 11, slipring.shelf_seq(v_copied.seq),
                v_last.fence, v_last.part, v_generation);
            RETURN false;
        END IF;
    END IF;
    v_state.journal := p_journal;
    IF p_journal > v_state.taken_journal + slipring.taken_generations() + 1 THEN
        -- Every transaction that was allowed a hand-out without the lock has ended (see taken_may), and
        -- its hand-outs are in the state that was read above.
        v_state.taken := NULL;
    END IF;
    PERFORM slipring.state_write(p_queue, v_state);
    RETURN true;
END $$;
