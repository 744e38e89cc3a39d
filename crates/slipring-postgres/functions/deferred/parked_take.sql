-- Purpose: the first parked messages of a queue, which the caller brings into another state
--          or queue.
-- Inputs:  p_queue, p_limit.
-- Lock:    the caller holds the queue's lock.
-- Index:   see items_first; mark_newest grows by one entry where there are some.
CREATE OR REPLACE FUNCTION slipring.parked_take(p_queue slipring.queue, p_limit bigint)
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    v_mark slipring.mark := slipring.mark_read(p_queue.queue_id, 3);
    v_done int8multirange := slipring.cut(p_queue.xid_base);
    v_rows slipring.item_picture[];
    v_last slipring.item_picture;
BEGIN
    v_rows := ARRAY(SELECT i FROM slipring.items_first(v_mark, '{[0,)}', p_limit) i);
    IF v_rows <> '{}' THEN
        v_last := v_rows[cardinality(v_rows)];
        -- Where it did not come to the mark, there may be some before it that it did not come to.
        IF (v_last.turn, v_last.id) >= (v_mark.turn, v_mark.id) THEN
            PERFORM slipring.mark_write(v_mark, v_last.turn, v_last.id + 1, v_done);
        END IF;
    END IF;
    RETURN ARRAY(SELECT r.id FROM unnest(v_rows) r);
END $$;
