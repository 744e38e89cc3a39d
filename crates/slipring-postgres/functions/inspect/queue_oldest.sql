-- Purpose: when about the oldest message of a queue was sent; never later than that.
-- Inputs:  p_queue.
-- Lock:    the caller holds the queue's lock, or see queue_hold; one snapshot.
-- Index:   the partitions' order indexes, item_sent, at most 100 steps past
--          pictures that are out of date; lease_newest.
CREATE OR REPLACE FUNCTION slipring.queue_oldest(p_queue slipring.queue)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_state slipring.state := slipring.state_read(p_queue);
    v_from text := slipring.live_tables(p_queue, v_state);
    v_oldest bigint := (
        SELECT coalesce(min(i.sent_ms) FILTER (WHERE i.newest),
            CASE WHEN count(*) = 100 THEN max(i.sent_ms) END)
        FROM (SELECT p.sent_ms, p.seq = (SELECT n.seq FROM item_picture n
                  WHERE n.id = p.id ORDER BY n.seq DESC LIMIT 1) AS newest
              FROM item_picture p
              WHERE p.queue_id * 2::bigint = p_queue.queue_id * 2::bigint
                  AND p.state + 2 < 6
              ORDER BY p.sent_ms, p.id LIMIT 100) i);
BEGIN
    FOR v_at IN 1..cardinality(v_state.lanes) LOOP
        v_oldest := least(v_oldest, slipring.lane_oldest(v_from, v_state, v_at));
    END LOOP;
    IF v_state.leased > 0 THEN
        v_oldest := least(v_oldest, (SELECT min(m.sent_ms)
            FROM slipring.lease_open(p_queue.queue_id) l
            CROSS JOIN LATERAL slipring.lease_members(v_from, l, 1) m));
    END IF;
    RETURN v_oldest;
END $$;
