-- Purpose: the newest pictures of the leases that fences name, those that are over too.
-- Inputs:  p_queue; p_fences.
-- Lock:    the caller holds the queue's lock where it will write.
-- Index:   lease_newest, a few steps for each fence.
CREATE OR REPLACE FUNCTION slipring.lease_newest(p_queue int, p_fences bigint[])
RETURNS SETOF slipring.lease LANGUAGE sql STABLE AS $$
    SELECT n.* FROM (SELECT DISTINCT f FROM unnest(p_fences) f) f
    CROSS JOIN LATERAL (
        SELECT DISTINCT ON (l.part) l.* FROM lease l
        WHERE l.queue_id = p_queue AND l.fence = f.f ORDER BY l.part, l.seq DESC) n
$$;
