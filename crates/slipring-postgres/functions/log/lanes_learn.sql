-- Purpose: gives priorities a lane of the log, as long as the queue has less than 16.
-- Inputs:  p_queue, a standard queue; p_priorities of messages to be sent now, which were checked: with
--          one that is out of its range a queue that shares tables would have the lane of another.
-- Lock:    the queue's lock when there is a new lane.
-- Index:   queue_pkey.
CREATE OR REPLACE FUNCTION slipring.lanes_learn(p_queue slipring.queue, p_priorities bigint[])
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    v_wanted bigint[] := slipring.lanes_of(p_queue, p_priorities);
    v_lanes bigint[];
    v_new bigint[];
BEGIN
    IF p_priorities IS NOT NULL AND (0 <= ALL (p_priorities) AND {{PRIORITY_MAX}} >= ALL (p_priorities))
        IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'XX000', MESSAGE = format('queue %s: a lane of the priorities %s is asked for',
            p_queue.queue_id, p_priorities);
    END IF;
    IF v_wanted <@ p_queue.lanes OR cardinality(p_queue.lanes) >= {{LANES_MAX}} THEN
        RETURN p_queue.lanes;
    END IF;
    v_lanes := (slipring.queue_lock(p_queue.queue_id)).lanes;
    v_new := ARRAY(SELECT DISTINCT p FROM unnest(v_wanted) p WHERE p <> ALL (v_lanes)
                   ORDER BY p LIMIT {{LANES_MAX}} - cardinality(v_lanes));
    IF cardinality(v_new) > 0 THEN
        v_lanes := ARRAY(SELECT p FROM unnest(v_lanes || v_new) p ORDER BY p);
        UPDATE slipring.queue q SET lanes = v_lanes WHERE q.queue_id = p_queue.queue_id;
    END IF;
    RETURN v_lanes;
END $$;
