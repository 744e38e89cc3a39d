-- Purpose: whether a receive of a queue would get something now.
-- Inputs:  the queue's name.
-- Lock:    none of a standard queue, that of a FIFO queue is tried; where users receive without the
--          queue's lock, the row of a message is locked for a moment, to see that no open
--          transaction has received it.
-- Index:   queue_name; see queue_head, in_flight_room, taken_apart.
CREATE OR REPLACE FUNCTION slipring.ready(queue text)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    v_queue slipring.queue := slipring.queue_named(ready.queue, 'consumer');
    v_now_ms bigint := slipring.now_ms();
    v_state slipring.state;
    v_any boolean;
BEGIN
    PERFORM slipring.isolation_check(), slipring.generations_enter();
    IF NOT EXISTS (SELECT FROM slipring.store_heads(ARRAY[v_queue.queue_id], v_now_ms))
        OR NOT slipring.in_flight_room(v_queue, v_now_ms)
    THEN
        RETURN false;
    ELSIF v_queue.fifo OR (slipring.state_newest(v_queue.queue_id)).taken IS NULL
            AND NOT slipring.taken_expected(v_queue.queue_id)
        OR slipring.items_ready(v_queue.queue_id) THEN
        RETURN true;
    END IF;
    BEGIN
        v_queue := slipring.queue_hold(v_queue.queue_id);
        v_state := slipring.taken_apart(v_queue, 1, true);
        v_any := slipring.log_any(slipring.live_tables(v_queue, v_state), v_state.lanes,
            v_state.open);
        -- What a block has locked is given back where it fails.
        RAISE EXCEPTION USING ERRCODE = 'SR100';
    EXCEPTION WHEN SQLSTATE 'SR100' THEN
        RETURN v_any;
    END;
END $$;
