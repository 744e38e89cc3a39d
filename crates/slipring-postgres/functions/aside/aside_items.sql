-- Purpose: sets messages of the shelf aside whose newest picture can be none, or that have no body.
-- Inputs:  p_queue.
-- Lock:    the caller holds the queue's lock.
-- Index:   item_order, for about 300 ms, what is due, lapses or is received first; item_body_id for
--          each picture.
CREATE OR REPLACE FUNCTION slipring.aside_items(p_queue slipring.queue)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_until timestamptz := clock_timestamp() + interval '300 ms';
    v_state int;
    v_item slipring.item_picture;
    v_why text;
BEGIN
    FOREACH v_state IN ARRAY ARRAY[2, 0, 1, 3] LOOP
        FOR v_item IN SELECT i.* FROM item i
            WHERE i.queue_id = p_queue.queue_id AND i.state = v_state
            ORDER BY i.turn, i.id
        LOOP
            v_why := nullif(slipring.item_fault(v_item, p_queue.fifo), '');
            IF v_why IS NOT NULL THEN
                PERFORM slipring.aside_item(p_queue, v_item, v_why);
            END IF;
            EXIT WHEN clock_timestamp() >= v_until;
        END LOOP;
    END LOOP;
END $$;
