-- Purpose: what was offered last to receives by SQL of several messages: an offer has one row, or as many as are drawn
--          in about a second.
-- Inputs:  p_queue.
-- Lock:    none.
-- Index:   offer_newest, OFFER_ROWS_MAX steps in each slot.
-- Answers: its first ticket and the one behind its last; how many rows it has; when it was made. Nulls and 0
--          rows where nothing was offered.
CREATE OR REPLACE FUNCTION slipring.offer_last(
    p_queue int, OUT first bigint, OUT past bigint, OUT rows bigint, OUT made_ms bigint)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    SELECT min(o.first), max(o.past), count(*), max(o.made_ms) INTO first, past, rows, made_ms
    FROM (SELECT o.first, o.past, o.made_ms,
            first_value(o.made_ms) OVER (ORDER BY o.first DESC) AS newest_ms FROM (
            SELECT o.first, o.past, o.made_ms FROM slipring.offer o
            WHERE o.queue_id = p_queue AND o.several
            ORDER BY o.first DESC LIMIT {{OFFER_ROWS_MAX}}) o) o
    WHERE o.made_ms = o.newest_ms;
END $$;
