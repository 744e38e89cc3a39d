-- Purpose: before which moment no lease of the log of a queue lapses.
-- Inputs:  p_queue; p_after_ms: every lease that is not over ends later.
-- Lock:    the caller holds the queue's lock.
-- Index:   lease_deadline, at most 1,000 steps past leases that are over; lease_newest for each.
CREATE OR REPLACE FUNCTION slipring.lapse_next(p_queue int, p_after_ms bigint)
RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT coalesce(min(l.deadline_ms) FILTER (WHERE NOT EXISTS (
            SELECT FROM slipring.lease newer WHERE newer.queue_id = p_queue
                AND newer.fence = l.fence AND newer.part = l.part AND newer.seq > l.seq)),
        max(l.deadline_ms))
    FROM (SELECT l.deadline_ms, l.fence, l.part, l.seq FROM slipring.lease l
          WHERE l.queue_id = p_queue AND l.deadline_ms > p_after_ms AND l.n > 0
          ORDER BY l.deadline_ms LIMIT 1000) l
$$;
