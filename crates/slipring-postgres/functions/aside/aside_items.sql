-- Purpose: sets messages of the shelf aside, their pictures and their bodies, whose newest picture
--          can be none, or that have no body. Counts are mended afterwards, see aside_recount.
-- Inputs:  p_queue.
-- Lock:    the caller holds the queue's lock.
-- Index:   item_order, for about 300 ms, what is due, lapses or is received first; item_body_id for
--          each picture; item_picture_N_newest and fifo_groups_set for what is set aside.
CREATE OR REPLACE FUNCTION slipring.aside_items(p_queue slipring.queue)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_until timestamptz := clock_timestamp() + interval '{{ASIDE_MS}} ms';
    v_state int;
    v_item slipring.item_picture;
    v_why text;
BEGIN
    FOREACH v_state IN ARRAY ARRAY[2, 0, 1, 3] LOOP
        FOR v_item IN SELECT i.* FROM slipring.item i
            WHERE i.queue_id = p_queue.queue_id AND i.state = v_state
            ORDER BY i.turn, i.id
        LOOP
            v_why := nullif(slipring.item_fault(v_item, p_queue.fifo), '');
            IF v_why IS NOT NULL THEN
                PERFORM slipring.aside_row(p_queue, 'picture', v_why, (p.seq = v_item.seq)::int,
                    to_jsonb(p), p.tableoid::regclass, p.ctid)
                FROM slipring.item_picture p
                WHERE p.id = v_item.id AND p.queue_id = v_item.queue_id;
                PERFORM slipring.aside_row(p_queue, 'body', v_why, 0, to_jsonb(b),
                    b.tableoid::regclass, b.ctid)
                FROM slipring.item_body b WHERE b.id = v_item.id;
                IF v_item.fifo_group IS NOT NULL THEN
                    PERFORM slipring.fifo_groups_set(p_queue, ARRAY[v_item.fifo_group],
                        ARRAY[v_item.id]);
                END IF;
                PERFORM nextval(p_queue.activity);
            END IF;
            EXIT WHEN clock_timestamp() >= v_until;
        END LOOP;
    END LOOP;
END $$;
