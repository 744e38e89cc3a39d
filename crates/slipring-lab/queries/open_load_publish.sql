-- Purpose: publishes a load; answers how many messages it has.
-- Inputs: $1 the load, $2 how many messages there have to be.
-- Lock: the load's, for which it waits first; then the queue's.
-- Index: see functions/store/store_load_publish.sql of the store.
SELECT slipring.load_publish($1::bigint, $2::bigint)
