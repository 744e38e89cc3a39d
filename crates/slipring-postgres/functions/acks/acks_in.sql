-- Purpose: the messages that acks of SQL users with ids in a set name.
-- Inputs:  p_queue; p_ids.
-- Lock:    none.
-- Index:   see acks_read.
CREATE OR REPLACE FUNCTION slipring.acks_in(p_queue int, p_ids int8multirange)
RETURNS TABLE (message_id bigint, fence bigint) LANGUAGE sql STABLE AS $$
    SELECT m.id, a.fence FROM slipring.acks_read(p_queue, p_ids) a CROSS JOIN LATERAL (
        SELECT a.message_id WHERE a.message_id > 0
        UNION ALL
        SELECT generate_series(lower(r), upper(r) - 1) FROM unnest(a.ids) r) m(id)
$$;
