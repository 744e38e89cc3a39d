-- Purpose: ends the leases that end with a process, as lapses.
-- Inputs:  p_holder, the process; p_now_ms.
-- Lock:    the locks of the queues concerned, in the order of their numbers.
-- Index:   lease_holder, item_holder; see lapse_queue.
CREATE OR REPLACE FUNCTION slipring.store_end_sessions(p_holder bigint, p_now_ms bigint)
RETURNS TABLE (queue int, ready bigint)
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
SET search_path = pg_catalog, slipring, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_row record;
BEGIN
    FOR v_row IN
        SELECT d.queue_id, bool_or(d.id IS NULL) AS log, coalesce(array_agg(d.id)
            FILTER (WHERE d.id IS NOT NULL), '{}') AS ids
        FROM (SELECT DISTINCT l.queue_id, NULL::bigint AS id FROM slipring.lease l
              WHERE l.holder = p_holder
              UNION ALL
              SELECT i.queue_id, i.id FROM slipring.item i
              WHERE i.holder = p_holder AND i.state = 2) d
        GROUP BY d.queue_id ORDER BY d.queue_id
    LOOP
        RETURN QUERY SELECT p.queue, p.ready FROM slipring.lapse_queue(v_row.queue_id, p_now_ms,
            9223372036854775807, v_row.ids, p_holder, v_row.log) p WHERE p.queue IS NOT NULL;
    END LOOP;
END $$;
