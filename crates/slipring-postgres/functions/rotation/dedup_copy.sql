-- Purpose: copies deduplication ids whose windows last much longer than a generation into the present one, up to
--          1,000 at a time, so that one queue with a long window does not keep the ids of all. Those of
--          queues that are gone are left behind.
-- Inputs:  p_slot of the old generation, to which nobody writes any more; p_now, the present one; p_now_ms.
-- Lock:    the caller holds the lock of rotation.
-- Index:   dedup_until, as far as windows are not over; dedup_N_once, which grows.
-- Answers: how many.
CREATE OR REPLACE FUNCTION slipring.dedup_copy(p_slot int, p_now bigint, p_now_ms bigint)
RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    v_n int;
BEGIN
    INSERT INTO slipring.dedup (slot, queue_id, scope, dedup_id, round, message_id, until_ms, sent_ms)
    SELECT p_now % 3, d.queue_id, d.scope, d.dedup_id, d.round, d.message_id, d.until_ms, d.sent_ms
    FROM slipring.dedup d
    WHERE d.slot = p_slot AND d.until_ms > p_now_ms
        AND EXISTS (SELECT FROM slipring.queue q WHERE q.queue_id = d.queue_id OFFSET 0)
        AND NOT EXISTS (SELECT FROM slipring.dedup k WHERE k.slot = p_now % 3 AND k.queue_id = d.queue_id
            AND k.scope = d.scope AND k.dedup_id = d.dedup_id AND k.round = d.round OFFSET 0)
    ORDER BY d.until_ms DESC LIMIT {{DEDUP_COPY_STEP}}
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS v_n = ROW_COUNT;
    IF v_n > 0 THEN
        -- Who does not see them in the present generation may need the old one.
        PERFORM setval('slipring.dedup_mark', pg_current_xact_id()::text::bigint);
    END IF;
    RETURN v_n;
END $$;
