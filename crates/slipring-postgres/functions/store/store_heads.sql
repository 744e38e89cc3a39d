-- Purpose: the first ready message of each queue (S7.6).
-- Inputs:  p_queues, p_now_ms.
-- Lock:    none that is waited for, see queue_head.
-- Index:   the partitions' order indexes, see items_first, fifo_open.
-- Answers: a row for each queue that has one, with its place in p_queues.
CREATE OR REPLACE FUNCTION slipring.store_heads(p_queues int[], p_now_ms bigint)
RETURNS TABLE (ord int, failing boolean, priority bigint, sent_ms bigint, id bigint)
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
SET search_path = pg_catalog, slipring, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_id int;
    v_queue slipring.queue;
BEGIN
    PERFORM slipring.generations_enter();
    FOR v_id IN SELECT DISTINCT q FROM unnest(p_queues) q ORDER BY q LOOP
        SELECT * INTO v_queue FROM slipring.queue q WHERE q.queue_id = v_id;
        CONTINUE WHEN v_queue.queue_id IS NULL OR slipring.queue_paused(v_queue, p_now_ms);
        RETURN QUERY SELECT u.n::int, h.failing, h.priority, h.sent_ms, h.id
        FROM slipring.queue_head(v_queue, p_now_ms) h, unnest(p_queues) WITH ORDINALITY AS u(q, n)
        WHERE u.q = v_id;
    END LOOP;
END $$;
