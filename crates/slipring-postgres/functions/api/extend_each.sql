-- Purpose: prolongs leases to now + duration (S3.3), receipt by receipt.
-- Inputs:  p_receipts, of any queues; p_lease, or null for the message's or queue's own.
-- Lock:    the queues' locks, to the end of the transaction, see queues_lock.
-- Index:   see store_extend.
-- Answers: a row for each receipt that is told from others: the new deadline, or an error.
CREATE OR REPLACE FUNCTION slipring.extend_each(p_receipts text[], p_lease interval)
RETURNS TABLE (receipt text, lease_until timestamptz, error text, error_message text,
    error_context jsonb)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_lease_ms bigint := slipring.interval_ms(p_lease, 'the lease', NULL, p_receipts);
    v_part record;
BEGIN
    PERFORM slipring.isolation_check();
    FOR v_part IN SELECT * FROM slipring.receipts_by_queue(p_receipts) LOOP
        RETURN QUERY SELECT v_part.receipts[s.ord], to_timestamp(s.deadline_ms / 1000.0), s.error,
            s.error_message, s.error_context || v_part.facts
        FROM slipring.store_extend(v_part.queue, slipring.now_ms(), v_part.messages,
            v_part.fences, array_fill(v_lease_ms, ARRAY[cardinality(v_part.messages)])) s;
    END LOOP;
END $$;
