-- Purpose: what is wrong with a lease of the log, the newest row of it, but for which messages it has.
-- Inputs:  p_lease; p_state of its queue.
-- Lock:    none.
-- Index:   none.
-- Answers: null when nothing is.
CREATE OR REPLACE FUNCTION slipring.lease_fault(p_lease slipring.lease, p_state slipring.state)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN p_lease.n < 0 OR (p_lease.n = 0) <> isempty(p_lease.open)
            THEN format('%s messages of %s', p_lease.n, p_lease.open)
        -- Those of hand-outs without the queue's lock are below zero, see taken_next.
        WHEN p_lease.seq NOT BETWEEN (p_lease.fence > 0)::int AND p_state.seq
            THEN format('the number %s', p_lease.seq)
        WHEN p_lease.fence = 0 OR p_lease.fence > p_state.fence
            THEN format('the fence %s', p_lease.fence)
        WHEN p_lease.part < 0 THEN format('the part %s', p_lease.part)
        WHEN p_lease.n = 0 THEN NULL
        WHEN lower_inf(p_lease.open) OR upper_inf(p_lease.open) THEN 'messages without bounds'
        WHEN p_lease.lane <> ALL (p_state.lanes) THEN format('the lane %s', p_lease.lane)
        WHEN p_lease.bytes NOT BETWEEN 0 AND 1125899906842624
            THEN format('%s bytes', p_lease.bytes)
        WHEN p_lease.bytes_each < 0 THEN format('%s bytes each', p_lease.bytes_each)
        WHEN p_lease.deadline_ms NOT BETWEEN 0 AND {{MOMENT_MS_MAX}}
            THEN format('the deadline %s ms', p_lease.deadline_ms)
        WHEN p_lease.leased_ms NOT BETWEEN 0 AND {{MOMENT_MS_MAX}}
            THEN format('leased at %s ms', p_lease.leased_ms) END
$$;
