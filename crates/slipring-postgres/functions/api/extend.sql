-- Purpose: prolongs leases to now + duration (S3.3). Call it in a transaction of its own.
-- Inputs:  a receipt of slipring.receive, or several of any queues; lease, or null for the
--          message's or queue's own.
-- Lock:    the queues' locks, to the end of the transaction, see queues_lock.
-- Index:   see store_extend.
-- Answers: the new deadline. A lost lease is an error; among several its deadline is null, and the
--          others are prolonged (S10.6).
CREATE OR REPLACE FUNCTION slipring.extend(receipt text, lease interval DEFAULT NULL)
RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_answer record;
BEGIN
    SELECT * INTO v_answer FROM slipring.extend_each(ARRAY[receipt], lease);
    PERFORM slipring.lease_check(v_answer.error, v_answer.error_message, v_answer.error_context);
    RETURN v_answer.lease_until;
END $$;

CREATE OR REPLACE FUNCTION slipring.extend(receipts text[], lease interval DEFAULT NULL)
RETURNS timestamptz[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    -- All of them before the first is looked for: a join might leave out what finds no receipt.
    v_untils jsonb := (SELECT jsonb_object_agg(a.receipt, a.lease_until)
        FROM slipring.extend_each(receipts, lease) a);
BEGIN
    RETURN ARRAY(SELECT (v_untils ->> u.r)::timestamptz
        FROM unnest(receipts) WITH ORDINALITY AS u(r, n) ORDER BY u.n);
END $$;
