-- Purpose: the first half of the advisory lock that says whose row of lock_row this transaction has locked:
--          pg_locks does not show locks of rows. It is made from a secret and the transaction's number, so that
--          no other session can take the lock first.
-- Lock:    none.
-- Index:   store_pkey. Volatile like what it reads, so that it is inlined.
-- Answers: null where the transaction has no number; it then has no row.
CREATE OR REPLACE FUNCTION slipring.lock_row_class()
RETURNS int LANGUAGE sql VOLATILE AS $$
    SELECT (hashtextextended(encode(s.receipt_key, 'hex'),
        pg_current_xact_id_if_assigned()::text::bigint) >> 32)::int FROM slipring.store s
$$;
