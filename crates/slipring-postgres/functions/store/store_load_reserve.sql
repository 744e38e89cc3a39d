-- Purpose: reserves the numbers for a block of parts of an open load; see load_block. Its commit
--          need not wait for its flush: whatever is written with these numbers comes after it.
-- Inputs:  p_load; p_blocks, at most 64.
-- Lock:    the queue's lock.
-- Index:   load_pkey, queue_pkey; see load_reserve_blocks.
CREATE OR REPLACE FUNCTION slipring.store_load_reserve(p_load bigint, p_blocks bigint[])
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, slipring, pg_temp AS $$
DECLARE
    v_load slipring.load := slipring.load_open(p_load);
    v_queue slipring.queue := slipring.queue_lock(v_load.queue_id);
BEGIN
    -- Once more: it may have ended before the lock was there.
    v_load := slipring.load_open(p_load);
    PERFORM slipring.commit_mode(true),
        slipring.load_reserve_blocks(v_queue, v_load.load_id, p_blocks);
END $$;
