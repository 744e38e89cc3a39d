-- Purpose: removes rows of item for good.
-- Inputs:  p_queue; p_ids.
-- Lock:    the queue's lock.
-- Index:   item_pkey.
CREATE OR REPLACE FUNCTION slipring.item_remove(p_queue slipring.queue, p_ids bigint[])
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_gone bigint;
BEGIN
    IF coalesce(cardinality(p_ids), 0) = 0 THEN
        RETURN 0;
    END IF;
    WITH gone AS (
        DELETE FROM slipring.item i
        WHERE i.id = ANY (p_ids) AND i.queue_id = p_queue.queue_id
        RETURNING i.state, i.priority, i.bytes, i.fifo_group),
    touched AS (
        INSERT INTO slipring.fifo_touched
        SELECT DISTINCT p_queue.queue_id, g.fifo_group FROM gone g
        WHERE g.fifo_group IS NOT NULL),
    counted AS (
        INSERT INTO slipring.tally
        SELECT p_queue.queue_id, -count(*) FILTER (WHERE g.state = 1),
            -count(*) FILTER (WHERE g.state = 1 AND g.priority < 1024),
            -count(*) FILTER (WHERE g.state = 0), -count(*) FILTER (WHERE g.state = 2),
            -count(*) FILTER (WHERE g.state = 3), -sum(g.bytes)
        FROM gone g HAVING count(*) > 0)
    SELECT count(*) INTO v_gone FROM gone;
    PERFORM nextval(p_queue.activity);
    RETURN v_gone;
END $$;
