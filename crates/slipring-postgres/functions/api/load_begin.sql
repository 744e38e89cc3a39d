-- Purpose: begins a load: messages that are appended in parts by any number of sessions and become
--          ready together (S15).
-- Inputs:  the queue's name; parts, how many to reserve: those from 0 on.
-- Lock:    the queue's lock, to the end of the transaction.
-- Index:   queue_name; as store_load_begin.
-- Answers: the load's number.
CREATE OR REPLACE FUNCTION slipring.load_begin(
    queue text, parts int DEFAULT {{LOAD_PARTS_RESERVED_MAX}})
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, slipring, pg_temp
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_queue slipring.queue := slipring.queue_named($1, 'producer');
    v_blocks bigint[] := slipring.load_parts_blocks(0, $2, $1);
BEGIN
    PERFORM slipring.load_alone('load_begin');
    RETURN slipring.store_load_begin(v_queue.queue_id, slipring.now_ms(), cardinality(v_blocks));
END $$;
