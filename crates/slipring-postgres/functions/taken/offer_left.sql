-- Purpose: whether receives by SQL of several messages have parts left that are offered to them.
-- Inputs:  p_queue; p_now_ms.
-- Lock:    none.
-- Index:   offer_newest, one step in each slot.
CREATE OR REPLACE FUNCTION slipring.offer_left(p_queue int, p_now_ms bigint)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM (
            SELECT o.past, o.made_ms FROM slipring.offer o WHERE o.queue_id = p_queue AND o.several
            ORDER BY o.first DESC LIMIT 1) o
        WHERE p_now_ms < o.made_ms + {{OFFER_MS}}
            AND pg_sequence_last_value(slipring.ticket(p_queue, true)) < o.past - 1);
END $$;
