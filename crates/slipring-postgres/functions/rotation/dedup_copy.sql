-- Purpose: moves deduplication ids whose windows last much longer than a generation into the present one, up to
--          1,000 at a time, so that one queue with a long window does not keep the ids of all. Those of
--          queues that are gone are left out.
-- Inputs:  p_slot of the old generation, to which only those write who write to the present one too; p_now, the present one; p_now_ms.
-- Lock:    the caller holds the lock of rotation.
-- Index:   dedup_until, from its end; dedup_N_once, which grows. Rows that have moved are deleted, so that the
--          next step begins behind them; they go with the table.
-- Answers: how many.
CREATE OR REPLACE FUNCTION slipring.dedup_copy(p_slot int, p_now bigint, p_now_ms bigint)
RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    v_n int;
    v_new int;
BEGIN
    WITH moved AS (
        DELETE FROM slipring.dedup d WHERE d.slot = p_slot AND d.ctid = ANY (ARRAY(
            SELECT k.ctid FROM slipring.dedup k WHERE k.slot = p_slot AND k.until_ms > p_now_ms
            ORDER BY k.until_ms DESC LIMIT {{DEDUP_COPY_STEP}}))
        RETURNING d.*),
    kept AS (
        INSERT INTO slipring.dedup (slot, queue_id, scope, dedup_id, round, message_id, until_ms, sent_ms)
        SELECT p_now % 3, m.queue_id, m.scope, m.dedup_id, m.round, m.message_id, m.until_ms, m.sent_ms
        FROM moved m WHERE EXISTS (SELECT FROM slipring.queue q WHERE q.queue_id = m.queue_id OFFSET 0)
        ON CONFLICT DO NOTHING RETURNING 1)
    SELECT (SELECT count(*) FROM moved), (SELECT count(*) FROM kept) INTO v_n, v_new;
    IF v_new > 0 THEN
        -- Who does not see them in the present generation needs the old one: its table stays as long. Those
        -- that were there already were entered in both: senders with an older snapshot than the mark go
        -- on doing so, and a mark that moves for what they enter would never be passed.
        PERFORM setval('slipring.dedup_mark', pg_current_xact_id()::text::bigint);
    END IF;
    RETURN v_n;
END $$;
