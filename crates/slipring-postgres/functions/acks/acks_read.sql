-- Purpose: acks of SQL users with numbers in a set, as they were entered: of a message, or of ids.
-- Inputs:  p_queue; p_ids.
-- Lock:    none.
-- Index:   ack_queue, a range for each run of ids, in each slot. The inner query stays one of its
--          own: joined, it would read all acks of the queue for each range.
-- Answers: in the order of their numbers.
CREATE OR REPLACE FUNCTION slipring.acks_read(p_queue int, p_ids int8multirange)
RETURNS TABLE (id bigint, message_id bigint, fence bigint, ids int8multirange)
LANGUAGE sql STABLE AS $$
    SELECT a.id, a.message_id, a.fence, a.ids FROM slipring.spans(p_ids) r CROSS JOIN LATERAL (
        SELECT a.id, a.message_id, a.fence, a.ids FROM ack a
        WHERE a.queue_id * 2::bigint = p_queue * 2::bigint AND a.id >= r.first AND a.id < r.past
        ORDER BY a.id) a
$$;
