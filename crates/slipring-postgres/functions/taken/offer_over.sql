-- Purpose: whether receives by SQL of several messages have used up what was offered to them a moment ago,
--          or let it become too old.
-- Inputs:  p_queue; p_now_ms.
-- Lock:    none.
-- Index:   offer_newest, one step in each slot.
-- Answers: false where nothing was offered lately: there is too little for it.
CREATE OR REPLACE FUNCTION slipring.offer_over(p_queue int, p_now_ms bigint)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM (
            SELECT o.past, o.made_ms FROM slipring.offer o WHERE o.queue_id = p_queue AND o.several
            ORDER BY o.first DESC LIMIT 1) o
        WHERE p_now_ms < o.made_ms + 5 * {{OFFER_MS}} AND (p_now_ms >= o.made_ms + {{OFFER_MS}}
            OR pg_sequence_last_value(slipring.ticket(p_queue, true)) >= o.past - 1));
END $$;
