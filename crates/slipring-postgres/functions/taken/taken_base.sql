-- Purpose: the fence of a transaction's first hand-out without the queue's lock.
-- Inputs:  p_queue; p_now_ms.
-- Lock:    none. Gives the transaction its number.
-- Index:   none. Volatile like what it calls, so that it is inlined.
-- Answers: the fence, see taken_fences. Its lower bits are the timeline, the time in seconds and how many
--          were given before: a database that was killed, or a standby that took over, may have
--          forgotten a transaction together with its number, and give the number again (S3.2).
CREATE OR REPLACE FUNCTION slipring.taken_base(p_queue slipring.queue, p_now_ms bigint)
RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT ((pg_current_xact_id()::text::bigint + p_queue.xid_base) << {{XID_SHIFT}})
        - {{BIGINT_MAX}} - 1 + (slipring.timeline() << 14) + ((p_now_ms / 1000 & 1023) << 4)
$$;
