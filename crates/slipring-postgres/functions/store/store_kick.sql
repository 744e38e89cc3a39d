-- Purpose: makes parked messages ready, or delayed ones when none is parked, in their order.
-- Inputs:  p_queue, p_limit, p_now_ms.
-- Lock:    the queue's lock.
-- Index:   see parked_take, items_first.
-- Answers: how many.
CREATE OR REPLACE FUNCTION slipring.store_kick(p_queue int, p_limit int, p_now_ms bigint)
RETURNS bigint LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
SET search_path = pg_catalog, slipring, pg_temp AS $$
DECLARE
    v_queue slipring.queue := slipring.queue_lock(p_queue);
    v_ids bigint[] := slipring.parked_take(v_queue, p_limit);
BEGIN
    IF v_ids = '{}' THEN
        v_ids := ARRAY(SELECT i.id FROM slipring.items_first(
            slipring.mark_read(p_queue, 0), '{[0,)}', p_limit) i);
    END IF;
    IF v_ids <> '{}' THEN
        PERFORM slipring.item_set(v_queue, v_ids, array_fill(1, ARRAY[cardinality(v_ids)]),
            NULL, p_before => slipring.fifo_known(v_queue));
        PERFORM slipring.tally_fold(v_queue);
    END IF;
    RETURN cardinality(v_ids);
END $$;
