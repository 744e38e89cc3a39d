-- Purpose: where a message of the log is, if it counts.
-- Inputs:  p_message.
-- Lock:    none.
-- Index:   the order indexes of every queue's partitions, one step for each lane; see lease_open.
-- Answers: its queue and lane; whether it is leased, since when and until when; nothing when it is
--          not in the log.
CREATE OR REPLACE FUNCTION slipring.log_find(
    p_message bigint, OUT queue int, OUT lane bigint, OUT leased boolean, OUT leased_ms bigint,
    OUT deadline_ms bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_queue slipring.queue;
    v_state slipring.state;
BEGIN
    FOR v_queue IN SELECT * FROM slipring.queue q ORDER BY q.queue_id LOOP
        v_state := slipring.state_read(v_queue);
        EXECUTE format('SELECT m.lane FROM unnest($1) l CROSS JOIN LATERAL %s m',
            slipring.log_row(slipring.live_tables(v_queue, v_state), 'l', '$2'))
        INTO lane USING v_state.lanes, p_message;
        CONTINUE WHEN lane IS NULL;
        IF p_message <@ v_state.open[array_position(v_state.lanes, lane)] THEN
            queue := v_queue.queue_id;
            leased := false;
            RETURN;
        END IF;
        SELECT v_queue.queue_id, true, l.leased_ms, l.deadline_ms
        INTO queue, leased, leased_ms, deadline_ms
        FROM slipring.lease_open(v_queue.queue_id) l
        WHERE l.lane = log_find.lane AND p_message <@ l.open;
        RETURN;
    END LOOP;
END $$;
