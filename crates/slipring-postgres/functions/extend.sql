-- Purpose: prolongs a lease to now + duration (S3.3). Call it in a transaction of its own.
-- Inputs:  a receipt of slipring.receive; lease, or null for the message's or queue's own.
-- Lock:    the queue's lock, to the end of the transaction.
-- Index:   see store_extend.
-- Answers: the new deadline.
CREATE OR REPLACE FUNCTION slipring.extend(receipt text, lease interval DEFAULT NULL)
RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_open record;
    v_answer record;
BEGIN
    PERFORM slipring.isolation_check();
    SELECT * INTO v_open FROM slipring.receipt_open(ARRAY[receipt]);
    SELECT * INTO v_answer FROM slipring.store_extend(v_open.queue, slipring.now_ms(),
        ARRAY[v_open.message], ARRAY[v_open.fence],
        ARRAY[slipring.interval_ms(lease, 'the lease')]);
    IF v_answer.error IS NOT NULL THEN
        PERFORM slipring.fail(CASE v_answer.error WHEN 'message_gone' THEN 'SR003'
            ELSE 'SR004' END, v_answer.error_message, v_answer.error_context);
    END IF;
    RETURN to_timestamp(v_answer.deadline_ms / 1000.0);
END $$;
