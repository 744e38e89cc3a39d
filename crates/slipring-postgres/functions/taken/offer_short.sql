-- Purpose: whether the offer to receives by SQL of one message is nearly used up, too old, or not there.
-- Inputs:  p_queue; p_now_ms.
-- Lock:    none.
-- Index:   offer_newest, a step in each slot.
CREATE OR REPLACE FUNCTION slipring.offer_short(p_queue int, p_now_ms bigint)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN NOT EXISTS (SELECT FROM (
            SELECT o.past, o.made_ms, cardinality(o.ids) AS ids FROM slipring.offer o
            WHERE o.queue_id = p_queue AND NOT o.several ORDER BY o.first DESC LIMIT 1) o
        WHERE p_now_ms < o.made_ms + {{OFFER_MS}} AND o.past - 1
            - coalesce(pg_sequence_last_value(slipring.ticket(p_queue, false)), 0) >= 2 * o.ids);
END $$;
