-- Purpose: the first ready messages with pictures of a standard queue by priority and order of
--          sending, whatever their standing.
-- Inputs:  p_queue; p_done, see items_first; p_limit.
-- Lock:    the caller's snapshot; the queue's lock where it takes them.
-- Index:   see items_first, mark_read.
-- Answers: with the kind of the mark by which each was found.
CREATE OR REPLACE FUNCTION slipring.items_ready(
    p_queue int, p_done int8multirange, p_limit bigint)
RETURNS TABLE (kind int, turn bigint, priority bigint, id bigint, bytes int, sent_ms bigint)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT k, i.turn, i.priority, i.id, i.bytes, i.sent_ms
    FROM unnest(ARRAY[1, 7, 8]) k
    CROSS JOIN LATERAL slipring.items_first(slipring.mark_read(p_queue, k), p_done, p_limit) i
    ORDER BY i.priority, i.id LIMIT p_limit;
END $$;
