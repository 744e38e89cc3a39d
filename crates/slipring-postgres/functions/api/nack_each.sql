-- Purpose: gives messages back (S3.3), receipt by receipt.
-- Inputs:  p_receipts, of any queues; p_delay or null; p_reason or null.
-- Lock:    the queues' locks, to the end of the transaction, see queues_lock.
-- Index:   see store_settle.
-- Answers: a row for each receipt that is told from others: ready, delayed, parked or
--          dead_lettered, or an error.
CREATE OR REPLACE FUNCTION slipring.nack_each(
    p_receipts text[], p_delay interval, p_reason text DEFAULT NULL)
RETURNS TABLE (receipt text, outcome text, error text, error_message text, error_context jsonb)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_delay_ms bigint := slipring.interval_ms(p_delay, 'the delay', NULL, p_receipts);
    v_part record;
    v_n int;
BEGIN
    PERFORM slipring.isolation_check();
    FOR v_part IN SELECT * FROM slipring.receipts_by_queue(p_receipts) LOOP
        v_n := cardinality(v_part.messages);
        RETURN QUERY SELECT v_part.receipts[s.ord], s.outcome, s.error, s.error_message,
            s.error_context || v_part.facts
        FROM slipring.store_settle(v_part.queue, slipring.now_ms(), v_part.messages,
            v_part.fences, array_fill('nack'::text, ARRAY[v_n]),
            array_fill(v_delay_ms, ARRAY[v_n]), array_fill(NULL::bigint, ARRAY[v_n]),
            ARRAY(SELECT random() FROM generate_series(1, v_n)),
            p_reasons => CASE WHEN p_reason IS NOT NULL THEN
                array_fill(slipring.reason_text(p_reason), ARRAY[v_n]) END) s;
    END LOOP;
END $$;
