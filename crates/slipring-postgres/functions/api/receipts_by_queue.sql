-- Purpose: what is in receipts made by receipt_seal, together by queue, each once.
-- Inputs:  p_receipts, at most 10,000; one that is not of this store is an error (SR005).
-- Lock:    the queues' locks, all of them before the first one is worked with, see queues_lock.
-- Index:   store_pkey, queue_pkey.
-- Answers: a row for each queue; facts has its name, for errors, where it is there.
CREATE OR REPLACE FUNCTION slipring.receipts_by_queue(p_receipts text[])
RETURNS TABLE (queue int, messages bigint[], fences bigint[], receipts text[], facts jsonb)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    -- Whatever dimensions and bounds it came with.
    v_receipts text[] := ARRAY(SELECT u.r FROM unnest(p_receipts) WITH ORDINALITY AS u(r, n)
        ORDER BY u.n);
    v_n int := cardinality(v_receipts);
BEGIN
    IF v_n > {{BATCH_MESSAGES_MAX}} THEN
        PERFORM slipring.fail_limit(NULL, 'batch_messages_max', {{BATCH_MESSAGES_MAX}}, v_n);
    END IF;
    IF NOT slipring.right_in_all('slipring.right_consumer'::regtype) THEN
        PERFORM slipring.queue_allow('consumer', q) FROM slipring.queue q
        WHERE q.queue_id IN (SELECT o.queue FROM slipring.receipt_open(v_receipts) o);
    END IF;
    PERFORM slipring.queues_lock(ARRAY(SELECT DISTINCT o.queue
        FROM slipring.receipt_open(v_receipts) o ORDER BY o.queue));
    RETURN QUERY SELECT o.queue, array_agg(o.message ORDER BY o.message, o.fence),
        array_agg(o.fence ORDER BY o.message, o.fence),
        array_agg(v_receipts[o.n] ORDER BY o.message, o.fence), coalesce((
            SELECT jsonb_build_object('queue', q.name) FROM slipring.queue q
            WHERE q.queue_id = o.queue), '{}')
    FROM (SELECT DISTINCT ON (o.queue, o.message, o.fence) o.*
          FROM slipring.receipt_open(v_receipts) o ORDER BY o.queue, o.message, o.fence) o
    GROUP BY o.queue ORDER BY o.queue;
END $$;
