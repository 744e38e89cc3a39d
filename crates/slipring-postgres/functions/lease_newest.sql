-- Purpose: the newest pictures of the leases that fences name, those that are over too.
-- Inputs:  p_queue; p_fences.
-- Lock:    the caller holds the queue's lock where it will write.
-- Index:   lease_newest, a few steps for each fence.
CREATE OR REPLACE FUNCTION slipring.lease_newest(p_queue int, p_fences bigint[])
RETURNS SETOF slipring.lease LANGUAGE sql STABLE AS $$
    SELECT DISTINCT ON (l.fence, l.part) l.*
    FROM (SELECT DISTINCT f FROM unnest(p_fences) f) f
    JOIN slipring.lease l ON l.queue_id = p_queue AND l.fence = f.f
    ORDER BY l.fence, l.part, l.seq DESC
$$;
