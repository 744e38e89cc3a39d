-- Purpose: makes parked messages ready, or delayed ones when none is parked, in their order.
-- Inputs:  p_queue, p_limit, p_now_ms.
-- Lock:    the queue's lock.
-- Index:   item_order.
-- Answers: how many.
CREATE OR REPLACE FUNCTION slipring.store_kick(p_queue int, p_limit int, p_now_ms bigint)
RETURNS bigint LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
DECLARE
    v_queue slipring.queue := slipring.queue_lock(p_queue);
    v_ids bigint[];
    v_state int;
BEGIN
    FOREACH v_state IN ARRAY ARRAY[3, 0] LOOP
        v_ids := ARRAY(SELECT i.id FROM slipring.item i
            WHERE i.queue_id = p_queue AND i.state = v_state ORDER BY i.turn, i.id
            LIMIT p_limit);
        EXIT WHEN v_ids <> '{}';
    END LOOP;
    IF v_ids <> '{}' THEN
        PERFORM slipring.item_set(v_queue, v_ids, array_fill(1, ARRAY[cardinality(v_ids)]),
            NULL);
        PERFORM slipring.tally_fold(p_queue);
    END IF;
    RETURN cardinality(v_ids);
END $$;
