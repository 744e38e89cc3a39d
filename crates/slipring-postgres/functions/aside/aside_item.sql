-- Purpose: sets a message of the shelf aside: its pictures and its body.
-- Inputs:  p_queue; p_item, its newest picture; p_why.
-- Lock:    the caller holds the queue's lock.
-- Index:   item_picture_N_newest, item_body_id; see fifo_groups_set.
CREATE OR REPLACE FUNCTION slipring.aside_item(
    p_queue slipring.queue, p_item slipring.item_picture, p_why text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_slot int := slipring.shelf_slot();
BEGIN
    INSERT INTO slipring.tally VALUES (v_slot, p_queue.queue_id,
        slipring.entry_now(p_queue.xid_base), -(p_item.state = 1)::int,
        -(p_item.state = 1 AND p_item.priority < {{PRIORITY_DEFAULT}})::int, -(p_item.state = 0)::int,
        -(p_item.state = 2)::int, -(p_item.state = 3)::int, -p_item.bytes);
    PERFORM slipring.aside_row(p_queue, 'picture', p_why, (p.seq = p_item.seq)::int, to_jsonb(p),
        p.tableoid::regclass, p.ctid)
    FROM slipring.item_picture p WHERE p.id = p_item.id AND p.queue_id = p_item.queue_id;
    PERFORM slipring.aside_row(p_queue, 'body', p_why, 0, to_jsonb(b), b.tableoid::regclass, b.ctid)
    FROM slipring.item_body b WHERE b.id = p_item.id;
    IF p_item.fifo_group IS NOT NULL THEN
        PERFORM slipring.fifo_groups_set(p_queue, ARRAY[p_item.fifo_group], ARRAY[p_item.id]);
    END IF;
    PERFORM nextval(p_queue.activity);
END $$;
