-- Purpose: gives messages back (S3.3): they come again after a delay, or by the queue's backoff.
--          Call it in a transaction of its own.
-- Inputs:  a receipt of slipring.receive, or several of any queues; a text that begins with a brace is
--          an array of them, see receipt_list; delay or null; a reason, which is kept with the
--          messages (S6.8).
-- Lock:    the queues' locks, to the end of the transaction, see queues_lock.
-- Index:   see store_settle.
-- Answers: ready, delayed, parked or dead_lettered. A lost lease is an error; among several it is
--          told, lease_lost or message_gone in its place, and the others are given back (S10.6). For
--          a text that is an array the text of such an array.
CREATE OR REPLACE FUNCTION slipring.nack(receipt text, delay interval DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN slipring.nack(receipt, delay, NULL);
END $$;

CREATE OR REPLACE FUNCTION slipring.nack(receipts text[], delay interval DEFAULT NULL)
RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN slipring.nack(receipts, delay, NULL);
END $$;

CREATE OR REPLACE FUNCTION slipring.nack(receipt text, delay interval, reason text)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_answer record;
BEGIN
    IF receipt LIKE '{%' THEN
        RETURN slipring.nack(slipring.receipt_list(receipt), delay, reason)::text;
    END IF;
    SELECT * INTO v_answer FROM slipring.nack_each(ARRAY[receipt], delay, reason);
    PERFORM slipring.lease_check(v_answer.error, v_answer.error_message, v_answer.error_context);
    RETURN v_answer.outcome;
END $$;

CREATE OR REPLACE FUNCTION slipring.nack(receipts text[], delay interval, reason text)
RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    -- All of them before the first is looked for: a join might leave out what finds no receipt.
    v_outcomes jsonb := (SELECT jsonb_object_agg(a.receipt, coalesce(a.error, a.outcome))
        FROM slipring.nack_each(receipts, delay, reason) a);
BEGIN
    RETURN ARRAY(SELECT v_outcomes ->> u.r
        FROM unnest(receipts) WITH ORDINALITY AS u(r, n) ORDER BY u.n);
END $$;
