-- Purpose: reserves further parts of an open load; those that are reserved stay so.
-- Inputs:  the load's number; first, the first part; parts, how many.
-- Lock:    the queue's lock, to the end of the transaction.
-- Index:   as load_reserve_blocks.
CREATE OR REPLACE FUNCTION slipring.load_reserve(
    load bigint, first bigint, parts int DEFAULT {{LOAD_PARTS_RESERVED_MAX}})
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, slipring, pg_temp
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_blocks bigint[];
    v_load slipring.load;
    v_queue slipring.queue;
BEGIN
    PERFORM slipring.load_alone('load_reserve'), slipring.load_allow($1);
    v_load := slipring.load_open($1);
    v_blocks := slipring.load_parts_blocks($2, $3, (SELECT q.name FROM slipring.queue q
        WHERE q.queue_id = v_load.queue_id), $1);
    v_queue := slipring.queue_lock(v_load.queue_id);
    v_load := slipring.load_open($1);
    PERFORM slipring.load_reserve_blocks(v_queue, v_load.load_id, v_blocks);
END $$;
