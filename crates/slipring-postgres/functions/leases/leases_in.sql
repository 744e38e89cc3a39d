-- Purpose: the newest pictures of the leases whose fences are in ranges, those that are over too.
-- Inputs:  p_queue; p_fences.
-- Lock:    none.
-- Index:   lease_newest, a range for each run of fences.
CREATE OR REPLACE FUNCTION slipring.leases_in(p_queue int, p_fences int8multirange)
RETURNS SETOF slipring.lease LANGUAGE sql STABLE AS $$
    SELECT n.* FROM unnest(p_fences) r CROSS JOIN LATERAL (
        SELECT DISTINCT ON (l.fence, l.part) l.* FROM lease l
        WHERE l.queue_id = p_queue AND l.fence >= lower(r) AND l.fence < upper(r)
        ORDER BY l.fence, l.part, l.seq DESC) n
$$;
