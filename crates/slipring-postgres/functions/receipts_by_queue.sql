-- Purpose: what is in receipts made by receipt_seal, together by queue, each once.
-- Inputs:  p_receipts; one that is not of this store is an error (SR005).
-- Lock:    none.
-- Index:   store_pkey.
-- Answers: a row for each queue, in the order of their numbers, in which locks are taken.
CREATE OR REPLACE FUNCTION slipring.receipts_by_queue(p_receipts text[])
RETURNS TABLE (queue int, messages bigint[], fences bigint[], receipts text[])
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT o.queue, array_agg(o.message ORDER BY o.message, o.fence),
        array_agg(o.fence ORDER BY o.message, o.fence),
        array_agg(p_receipts[o.n] ORDER BY o.message, o.fence)
    FROM (SELECT DISTINCT ON (o.queue, o.message, o.fence) o.*
          FROM slipring.receipt_open(p_receipts) o ORDER BY o.queue, o.message, o.fence) o
    GROUP BY o.queue ORDER BY o.queue;
END $$;
