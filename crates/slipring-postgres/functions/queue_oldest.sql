-- Purpose: when about the oldest message of a queue was sent; never later than that.
-- Inputs:  p_queue.
-- Lock:    the caller holds the queue's lock.
-- Index:   the partitions' order indexes, item_sent, lease_newest.
CREATE OR REPLACE FUNCTION slipring.queue_oldest(p_queue slipring.queue)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_state slipring.state := slipring.state_read(p_queue);
    v_oldest bigint := (SELECT i.sent_ms FROM slipring.item i
        WHERE i.queue_id = p_queue.queue_id ORDER BY i.id LIMIT 1);
BEGIN
    FOR v_at IN 1..cardinality(v_state.lanes) LOOP
        v_oldest := least(v_oldest, (slipring.lane_stats(p_queue, v_state, v_at)).oldest_ms);
    END LOOP;
    IF v_state.leased > 0 THEN
        v_oldest := least(v_oldest, (SELECT min(m.sent_ms)
            FROM slipring.lease_open(p_queue.queue_id) l
            CROSS JOIN LATERAL slipring.lease_members(slipring.live_tables(p_queue, v_state),
                l, 1) m));
    END IF;
    RETURN v_oldest;
END $$;
