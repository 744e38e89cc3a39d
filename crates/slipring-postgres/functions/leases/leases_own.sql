-- Purpose: the leases that messages of the log were sent with, for those that are prolonged by no other
--          time.
-- Inputs:  p_queue, p_state; p_messages with p_fences and the times that are given, entry by entry.
-- Lock:    the caller holds the queue's lock.
-- Index:   see lease_find; the partitions' order indexes, one step for each message.
-- Answers: by the place of the entry; null where there is none, or nothing is needed.
CREATE OR REPLACE FUNCTION slipring.leases_own(
    p_queue slipring.queue, p_state slipring.state, p_messages bigint[], p_fences bigint[],
    p_leases_ms bigint[])
RETURNS bigint[] LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_own bigint[];
    v_row record;
    v_lanes bigint[];
BEGIN
    IF array_position(p_leases_ms, NULL) IS NULL THEN
        RETURN NULL;
    END IF;
    -- A message without a lane is not found.
    v_lanes := ARRAY(SELECT CASE WHEN p_leases_ms[l.n] IS NULL THEN l.lane END
        FROM slipring.lease_find(p_queue.queue_id, p_messages, p_fences) l ORDER BY l.n);
    IF array_remove(v_lanes, NULL) = '{}' THEN
        RETURN NULL;
    END IF;
    FOR v_row IN EXECUTE format('SELECT u.n, m.lease_ms
        FROM unnest($1, $2) WITH ORDINALITY AS u(lane, id, n) CROSS JOIN LATERAL %s m
        WHERE m.lease_ms IS NOT NULL', slipring.log_row(slipring.live_tables(p_queue, p_state),
            'u.lane', 'u.id'))
    USING v_lanes, p_messages LOOP
        v_own[v_row.n] := v_row.lease_ms;
    END LOOP;
    RETURN v_own;
END $$;
