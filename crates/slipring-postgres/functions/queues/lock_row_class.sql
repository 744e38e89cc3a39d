-- Purpose: the first half of the advisory lock that says whose row of lock_row this transaction has locked:
--          pg_locks does not show locks of rows.
-- Inputs:  p_secret, see transaction_key.
-- Lock:    none.
-- Index:   none. Inlined where its argument is a column.
-- Answers: null where the transaction has no number; it then has no row.
CREATE OR REPLACE FUNCTION slipring.lock_row_class(p_secret bytea)
RETURNS int LANGUAGE sql VOLATILE AS $$
    SELECT (slipring.transaction_key(p_secret, 'row') >> 32)::int
$$;
