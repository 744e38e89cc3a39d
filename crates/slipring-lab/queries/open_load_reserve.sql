-- Purpose: reserves 16 further parts of a load.
-- Inputs: $1 the load, $2 the first of them.
-- Lock: the queue's, to the end of the transaction.
-- Index: see functions/store/store_load_reserve.sql of the store.
SELECT slipring.load_reserve($1::bigint, $2::bigint, 16)
