-- Purpose: removes what may be forgotten, and retires tables
-- Inputs: $1 now_ms
-- Lock: the queues', one after the other, see functions/store_prune.sql
-- Index: see functions/store_prune.sql
SELECT queue::int8, ready::int8, removed::int8, next_ms::int8, watermark::int8
FROM slipring.store_prune($1)
