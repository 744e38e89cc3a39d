-- Purpose: before which moment no lease of the log of a queue lapses.
-- Inputs:  p_queue; p_after_ms: every lease that is not over ends later.
-- Lock:    the caller holds the queue's lock.
-- Index:   lease_deadline, at most LAPSE_STEPS steps past leases that are over; lease_newest for each.
CREATE OR REPLACE FUNCTION slipring.lapse_next(p_queue int, p_after_ms bigint)
RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT coalesce(min(l.deadline_ms) FILTER (WHERE l.seq = (
            SELECT newest.seq FROM lease newest WHERE newest.queue_id = p_queue
                AND newest.fence = l.fence AND newest.part = l.part
            ORDER BY newest.seq DESC LIMIT 1)),
        max(l.deadline_ms))
    FROM (SELECT l.deadline_ms, l.fence, l.part, l.seq FROM lease l
          WHERE l.queue_id * 2::bigint = p_queue * 2::bigint AND l.deadline_ms > p_after_ms AND l.n > 0
          ORDER BY l.deadline_ms LIMIT {{LAPSE_STEPS}}) l
$$;
