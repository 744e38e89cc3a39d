-- Purpose: ends an open load. Its messages stay in the log, where no lane has their numbers, until
--          the table is emptied.
-- Inputs:  p_load.
-- Lock:    the load's lock alone; then the queue's.
-- Index:   load_pkey, load_part_pkey, load_block_pkey, queue_pkey; state_newest grows by one entry.
CREATE OR REPLACE FUNCTION slipring.store_load_abandon(p_load bigint)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, slipring, pg_temp AS $$
DECLARE
    v_load slipring.load;
    v_queue slipring.queue;
    v_state slipring.state;
BEGIN
    PERFORM slipring.load_lock(p_load, true);
    v_load := slipring.load_open(p_load);
    v_queue := slipring.queue_lock(v_load.queue_id, false);
    IF v_queue.queue_id IS NOT NULL THEN
        -- Lanes that were made meanwhile are written without these numbers.
        v_state := slipring.state_read(v_queue);
        v_state.seq := v_state.seq + 1;
        PERFORM slipring.state_write(v_queue, v_state);
    END IF;
    DELETE FROM slipring.load_block b WHERE b.load_id = v_load.load_id;
    DELETE FROM slipring.load_part p WHERE p.load_id = v_load.load_id;
    DELETE FROM slipring.load l WHERE l.load_id = v_load.load_id;
END $$;
