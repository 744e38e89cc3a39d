-- Purpose: makes one row of a queue's differences when there are many.
-- Inputs:  p_queue.
-- Lock:    the caller holds the queue's lock.
-- Index:   tally_queue.
CREATE OR REPLACE FUNCTION slipring.tally_fold(p_queue int)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT count(*) FROM (SELECT FROM slipring.tally t WHERE t.queue_id = p_queue
            LIMIT 100) t) < 100 THEN
        RETURN;
    END IF;
    WITH gone AS (DELETE FROM slipring.tally t WHERE t.queue_id = p_queue RETURNING t.*)
    INSERT INTO slipring.tally
    SELECT p_queue, sum(g.ready), sum(g.urgent), sum(g.delayed), sum(g.leased), sum(g.parked),
        sum(g.bytes)
    FROM gone g
    HAVING sum(g.ready) <> 0 OR sum(g.delayed) <> 0 OR sum(g.leased) <> 0
        OR sum(g.parked) <> 0 OR sum(g.bytes) <> 0;
END $$;
