-- Purpose: where a message of the log is, if it counts and no user's transaction has acked it.
-- Inputs:  p_message.
-- Lock:    none. Those on tables of queues that do not have it are given back at once, so that their
--          number does not grow with that of the queues.
-- Index:   see log_find_shared; the order indexes of the partitions of every queue that has tables of
--          its own and messages, one step for each lane; see lease_open and acked.
-- Answers: its queue and lane; whether it is leased, since when and until when; nothing when it is
--          not in the log.
CREATE OR REPLACE FUNCTION slipring.log_find(
    p_message bigint, OUT queue int, OUT lane bigint, OUT leased boolean, OUT leased_ms bigint,
    OUT deadline_ms bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_queue slipring.queue;
    v_state slipring.state;
    v_low text;
    v_next text;
BEGIN
    lane := slipring.log_find_shared(p_message);
    IF lane IS NOT NULL THEN
        SELECT * INTO v_queue FROM slipring.queue q WHERE q.queue_id = lane >> {{LANE_SHIFT}};
        IF v_queue.queue_id IS NULL THEN
            -- What a deleted queue has left.
            lane := NULL;
            RETURN;
        END IF;
        v_state := slipring.state_read(v_queue);
    ELSE
        FOR v_queue IN SELECT * FROM slipring.queue q WHERE q.generation_low IS NULL
            ORDER BY q.queue_id LOOP
            v_state := slipring.state_read(v_queue);
            -- What this snapshot sees is in the oldest generation or the one after it.
            v_low := format('slipring.message_%s_%s', v_queue.place, v_state.generation_low % 3);
            v_next := format('slipring.message_%s_%s', v_queue.place,
                (v_state.generation_low + 1) % 3);
            CONTINUE WHEN pg_relation_size(v_low::regclass) = 0
                AND pg_relation_size(v_next::regclass) = 0;
            BEGIN
                EXECUTE format('SELECT m.lane FROM unnest($1) l CROSS JOIN LATERAL %s m',
                    slipring.log_row(format('(SELECT * FROM %s UNION ALL SELECT * FROM %s)', v_low,
                        v_next), 'l', '$2'))
                INTO lane USING v_state.lanes, p_message;
                IF lane IS NULL THEN
                    -- What a block has locked is given back where it fails.
                    RAISE EXCEPTION USING ERRCODE = 'SR100';
                END IF;
                EXIT;
            EXCEPTION WHEN SQLSTATE 'SR100' THEN
                CONTINUE;
            END;
        END LOOP;
        IF lane IS NULL THEN
            RETURN;
        END IF;
    END IF;
    IF p_message <@ v_state.open[array_position(v_state.lanes, lane)] THEN
        queue := v_queue.queue_id;
        leased := false;
        RETURN;
    END IF;
    SELECT v_queue.queue_id, true, l.leased_ms, l.deadline_ms
    INTO queue, leased, leased_ms, deadline_ms
    FROM slipring.lease_open(v_queue.queue_id) l
    WHERE l.lane = log_find.lane AND p_message <@ l.open
        AND NOT slipring.acked(p_message, l.fence);
END $$;
