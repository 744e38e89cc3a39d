-- Purpose: the leases of the log of a queue that are not over, for what has no fence to look by.
-- Inputs:  p_queue.
-- Lock:    the caller holds the queue's lock where it will write.
-- Index:   lease_newest; walks the queue's leases since the last rotation.
CREATE OR REPLACE FUNCTION slipring.lease_open(p_queue int)
RETURNS SETOF slipring.lease LANGUAGE sql STABLE AS $$
    SELECT l.* FROM (
        SELECT DISTINCT ON (l.fence, l.part) l.* FROM slipring.lease l
        WHERE l.queue_id = p_queue ORDER BY l.fence, l.part, l.seq DESC) l
    WHERE l.n > 0
$$;
