-- Purpose: how many messages of a queue have pictures, and their bytes.
-- Inputs:  p_queue.
-- Lock:    the caller's snapshot.
-- Index:   tally_sum_newest, one step in each slot; tally_queue over what was added since.
CREATE OR REPLACE FUNCTION slipring.items_count(
    p_queue int, OUT ready bigint, OUT urgent bigint, OUT delayed bigint, OUT leased bigint,
    OUT parked bigint, OUT bytes bigint, OUT differences bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_sum slipring.tally_sum;
    v_new int8multirange := '{[0,)}';
BEGIN
    SELECT * INTO v_sum FROM tally_sum s WHERE s.queue_id = p_queue
    ORDER BY s.seq DESC LIMIT 1;
    IF v_sum.queue_id IS NOT NULL THEN
        v_new := v_sum.unseen;
    END IF;
    SELECT coalesce(v_sum.ready, 0) + coalesce(sum(t.ready), 0),
        coalesce(v_sum.urgent, 0) + coalesce(sum(t.urgent), 0),
        coalesce(v_sum.delayed, 0) + coalesce(sum(t.delayed), 0),
        coalesce(v_sum.leased, 0) + coalesce(sum(t.leased), 0),
        coalesce(v_sum.parked, 0) + coalesce(sum(t.parked), 0),
        coalesce(v_sum.bytes, 0) + coalesce(sum(t.bytes), 0), count(*)
    INTO ready, urgent, delayed, leased, parked, bytes, differences
    FROM slipring.spans(v_new) r CROSS JOIN LATERAL (
        SELECT t.* FROM tally t WHERE t.queue_id = p_queue AND t.entry >= r.first
            AND t.entry < r.past OFFSET 0) t;
END $$;
