-- Purpose: writes the states of queues that have had no leases and acks lately (journal_idle) to the present
--          generation of the journal: those among the next 500, for most of very many are idle.
-- Inputs:  p_from, the number of the first of them; p_journal, the present generation.
-- Lock:    the queues', see queue_free; those that are not free are passed over. None where
--          the answer is 0.
-- Index:   queue_pkey, state_newest, lock_row_pkey, see journal_idle; state_newest grows by one entry for each.
-- Answers: how many.
CREATE OR REPLACE FUNCTION slipring.journal_copy_idle(p_from int, p_journal bigint)
RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    v_queues int[];
    v_n int;
BEGIN
    -- Nothing is moved in a database that was restored and not imported.
    IF (SELECT s.home_at <> s.written_at FROM slipring.store s) THEN
        RETURN 0;
    END IF;
    v_queues := ARRAY(
        SELECT n.queue_id FROM (
            SELECT q.queue_id FROM slipring.queue q CROSS JOIN LATERAL (
                SELECT s.journal FROM slipring.state s
                WHERE s.queue_id = q.queue_id ORDER BY s.seq DESC LIMIT 1) s
            WHERE q.queue_id >= p_from AND s.journal < p_journal
            ORDER BY q.queue_id LIMIT {{JOURNAL_IDLE_STEP}}) n
        WHERE slipring.journal_idle(n.queue_id));
    BEGIN
        v_queues := ARRAY(SELECT l.queue_id FROM slipring.lock_row l
            WHERE l.queue_id = ANY (v_queues) AND l.kind = 0 FOR UPDATE SKIP LOCKED);
        -- What others have written before they gave their locks back is seen from here on.
        INSERT INTO slipring.state
        SELECT p_journal % 3, s.queue_id, s.seq + 1, s.fence, s.lanes, s.open, s.counted,
            s.counted_bytes, s.uncounted, s.acks, s.leased, s.leased_bytes, s.lapse_ms,
            s.generation_low, s.generation_mark, s.generation_since_ms, p_journal, s.passed_over,
            -- As journal_copy does.
            CASE WHEN p_journal <= s.taken_journal + slipring.taken_generations() + 1
                THEN s.taken END, s.taken_journal, s.apart
        FROM unnest(v_queues) q CROSS JOIN LATERAL (
            SELECT s.* FROM slipring.state s WHERE s.queue_id = q ORDER BY s.seq DESC LIMIT 1) s
        WHERE s.journal < p_journal AND slipring.journal_idle(q);
        GET DIAGNOSTICS v_n = ROW_COUNT;
        IF v_n = 0 THEN
            -- The caller goes on to wait for one of them, so the locks of the others are given back: by a
            -- block that fails.
            RAISE EXCEPTION USING ERRCODE = 'SR100';
        END IF;
    EXCEPTION WHEN SQLSTATE 'SR100' THEN
        v_n := 0;
    END;
    RETURN v_n;
END $$;
