-- Purpose: a number for advisory locks of this transaction that no other session can take first: it is made from
--          a secret and the transaction's number.
-- Inputs:  p_secret, the receipt_key of store; p_use, what the lock is for: who sees the number of one use in
--          pg_locks cannot tell that of another.
-- Lock:    none.
-- Index:   none. Inlined where p_secret is a column. Volatile like what it reads.
-- Answers: null where the transaction has no number.
CREATE OR REPLACE FUNCTION slipring.transaction_key(p_secret bytea, p_use text)
RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT hashtextextended(p_use || encode(p_secret, 'hex'),
        pg_current_xact_id_if_assigned()::text::bigint)
$$;
