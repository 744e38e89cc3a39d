-- Purpose: writes the states of queues that share tables, and have had no leases and acks lately, to
--          the present generation of the journal: up to 500 at a time, for most of very many are idle.
-- Inputs:  p_after, the number of a queue: those with higher ones; p_journal, the present generation.
-- Lock:    the queues', see queue_free; those that are not free are passed over.
-- Index:   queue_pkey, state_newest, lease_newest, ack_queue, lock_row_pkey; state_newest grows by one entry for each.
-- Answers: the last one; null where there was none.
CREATE OR REPLACE FUNCTION slipring.journal_copy_idle(p_after int, p_journal bigint)
RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    v_queues int[] := ARRAY(
        SELECT q.queue_id FROM slipring.queue q CROSS JOIN LATERAL (
            SELECT s.journal FROM slipring.state s
            WHERE s.queue_id = q.queue_id ORDER BY s.seq DESC LIMIT 1) s
        WHERE q.queue_id > p_after AND q.generation_low IS NOT NULL AND s.journal < p_journal
            AND NOT EXISTS (SELECT FROM slipring.lease l WHERE l.queue_id = q.queue_id OFFSET 0)
            AND NOT EXISTS (SELECT FROM slipring.ack a
                WHERE a.queue_id * 2::bigint = q.queue_id * 2::bigint OFFSET 0)
        ORDER BY q.queue_id LIMIT {{JOURNAL_IDLE_STEP}});
BEGIN
    -- Nothing is moved in a database that was restored and not imported.
    IF v_queues = '{}' OR (SELECT s.home_at <> s.written_at FROM slipring.store s) THEN
        RETURN NULL;
    END IF;
    v_queues := ARRAY(SELECT l.queue_id FROM slipring.lock_row l
        WHERE l.queue_id = ANY (v_queues) AND l.kind = 0 FOR UPDATE SKIP LOCKED);
    -- What others have written before they gave their locks back is seen from here on.
    WITH copied AS (
        INSERT INTO slipring.state
        SELECT p_journal % 3, s.queue_id, s.seq + 1, s.fence, s.lanes, s.open, s.counted,
            s.counted_bytes, s.uncounted, s.acks, s.leased, s.leased_bytes, s.lapse_ms,
            s.generation_low, s.generation_mark, s.generation_since_ms, p_journal, s.passed_over,
            -- As journal_copy does.
            CASE WHEN p_journal <= s.taken_journal + slipring.taken_generations() + 1
                THEN s.taken END, s.taken_journal, s.apart
        FROM unnest(v_queues) q CROSS JOIN LATERAL (
            SELECT s.* FROM slipring.state s WHERE s.queue_id = q ORDER BY s.seq DESC LIMIT 1) s
        WHERE s.journal < p_journal
            AND NOT EXISTS (SELECT FROM slipring.lease l WHERE l.queue_id = q OFFSET 0)
            AND NOT EXISTS (SELECT FROM slipring.ack a
                WHERE a.queue_id * 2::bigint = q * 2::bigint OFFSET 0)
        RETURNING queue_id)
    SELECT max(c.queue_id) INTO p_after FROM copied c;
    RETURN p_after;
END $$;
