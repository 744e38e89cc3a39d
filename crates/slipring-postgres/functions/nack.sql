-- Purpose: gives a message back (S3.3): it comes again after a delay, or by the queue's backoff.
--          Call it in a transaction of its own.
-- Inputs:  a receipt of slipring.receive; delay or null.
-- Lock:    the queue's lock, to the end of the transaction.
-- Index:   see store_settle.
-- Answers: ready, delayed, parked or dead_lettered.
CREATE OR REPLACE FUNCTION slipring.nack(receipt text, delay interval DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_open record;
    v_answer record;
BEGIN
    PERFORM slipring.isolation_check();
    SELECT * INTO v_open FROM slipring.receipt_open(ARRAY[receipt]);
    SELECT * INTO v_answer FROM slipring.store_settle(v_open.queue, slipring.now_ms(),
        ARRAY[v_open.message], ARRAY[v_open.fence], '{nack}',
        ARRAY[slipring.interval_ms(delay, 'the delay')], '{null}', ARRAY[random()]);
    IF v_answer.error IS NOT NULL THEN
        PERFORM slipring.fail(CASE v_answer.error WHEN 'message_gone' THEN 'SR003'
            ELSE 'SR004' END, v_answer.error_message, v_answer.error_context);
    END IF;
    RETURN v_answer.outcome;
END $$;
