-- Purpose: whether receives by SQL of several messages have used up half of what was offered to them a moment
--          ago, or let it become too old.
-- Inputs:  p_queue; p_now_ms.
-- Lock:    none.
-- Index:   see offer_last.
-- Answers: false where nothing was offered lately: there is too little for it.
CREATE OR REPLACE FUNCTION slipring.offer_over(p_queue int, p_now_ms bigint)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_last record := slipring.offer_last(p_queue);
BEGIN
    RETURN coalesce(p_now_ms < v_last.made_ms + 5 * {{OFFER_MS}}
        AND (p_now_ms >= v_last.made_ms + {{OFFER_MS}}
            OR v_last.past - 1 - pg_sequence_last_value(slipring.ticket(p_queue, true))
                < (v_last.past - v_last.first) / 2), false);
END $$;
