-- Purpose: begins a load.
-- Inputs:  p_queue, p_now_ms; p_blocks, how many to reserve at once.
-- Lock:    the queue's lock.
-- Index:   queue_pkey, load_queue, load_pkey.
-- Answers: its number.
CREATE OR REPLACE FUNCTION slipring.store_load_begin(p_queue int, p_now_ms bigint, p_blocks int)
RETURNS int LANGUAGE plpgsql
SET search_path = pg_catalog, slipring, pg_temp AS $$
DECLARE
    v_queue slipring.queue := slipring.queue_lock(p_queue);
    v_facts jsonb := jsonb_build_object('queue', v_queue.name);
    v_open bigint := (SELECT count(*) FROM slipring.load l
        WHERE l.queue_id = p_queue AND NOT l.published);
    v_load int;
BEGIN
    IF v_queue.fifo THEN
        PERFORM slipring.fail('SR007', 'a load is for standard queues; send to a FIFO queue in '
            'batches', v_facts);
    ELSIF v_queue.delay_ms > 0 THEN
        PERFORM slipring.fail('SR007', 'a load is for queues without a delay; set it to zero, or '
            'send batches', v_facts);
    ELSIF v_open >= {{LOADS_OPEN_MAX}} THEN
        PERFORM slipring.fail_limit(v_queue.name, 'loads_open_max', {{LOADS_OPEN_MAX}}, v_open + 1);
    END IF;
    INSERT INTO slipring.load (queue_id, begun_ms, touched_ms)
    VALUES (p_queue, p_now_ms, p_now_ms) RETURNING load_id INTO v_load;
    IF p_blocks > 0 THEN
        PERFORM slipring.load_reserve_blocks(v_queue, v_load,
            ARRAY(SELECT b FROM generate_series(0, p_blocks - 1) b));
    END IF;
    RETURN v_load;
END $$;
