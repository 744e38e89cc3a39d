-- Purpose: removes messages that have pictures, for good.
-- Inputs:  p_queue; p_ids.
-- Lock:    the queue's lock.
-- Index:   item_picture_N_newest, which grows; see fifo_groups_set.
-- Answers: how many were there.
CREATE OR REPLACE FUNCTION slipring.item_remove(p_queue slipring.queue, p_ids bigint[])
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_slot int;
    v_entry bigint;
    v_gone record;
BEGIN
    IF coalesce(cardinality(p_ids), 0) = 0 THEN
        RETURN 0;
    END IF;
    v_slot := slipring.shelf_slot();
    v_entry := slipring.entry_now(p_queue.xid_base);
    WITH old AS MATERIALIZED (
        SELECT i.* FROM (SELECT DISTINCT u FROM unnest(p_ids) u) u
        CROSS JOIN LATERAL slipring.item_now(u.u) i WHERE i.queue_id = p_queue.queue_id),
    gone AS (
        INSERT INTO slipring.item_picture (slot, id, seq, entry, queue_id, state, turn, priority,
            sent_ms, attempts, fence, delay_ms, bytes)
        SELECT v_slot, o.id, o.seq + 1, v_entry, o.queue_id, 4, 0, o.priority, o.sent_ms,
            o.attempts, o.fence, 0, o.bytes
        FROM old o),
    counted AS (
        INSERT INTO slipring.tally
        SELECT v_slot, p_queue.queue_id, v_entry, -count(*) FILTER (WHERE o.state = 1),
            -count(*) FILTER (WHERE o.state = 1 AND o.priority < 1024),
            -count(*) FILTER (WHERE o.state = 0), -count(*) FILTER (WHERE o.state = 2),
            -count(*) FILTER (WHERE o.state = 3), -sum(o.bytes)
        FROM old o HAVING count(*) > 0)
    SELECT count(*) AS n, array_agg(o.fifo_group) FILTER (WHERE o.fifo_group IS NOT NULL) AS names,
        array_agg(o.id) FILTER (WHERE o.fifo_group IS NOT NULL) AS ids INTO v_gone FROM old o;
    PERFORM slipring.fifo_groups_set(p_queue, v_gone.names, v_gone.ids);
    PERFORM nextval(p_queue.activity);
    RETURN v_gone.n;
END $$;
