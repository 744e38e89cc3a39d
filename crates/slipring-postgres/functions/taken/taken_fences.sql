-- Purpose: the fences that hand-outs without the queue's lock may have of transactions: negative, in
--          the order of transactions, so that none is that of a hand-out under the lock.
-- Inputs:  p_ids, the message numbers of the transactions, see cut.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.taken_fences(p_ids int8multirange)
RETURNS int8multirange LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_fences int8multirange := '{}';
    v_range int8range;
BEGIN
    FOR v_range IN SELECT unnest(p_ids) LOOP
        v_fences := v_fences + int8multirange(int8range(
            lower(v_range) - {{BIGINT_MAX}} - 1, upper(v_range) - {{BIGINT_MAX}} - 1));
    END LOOP;
    RETURN v_fences;
END $$;
