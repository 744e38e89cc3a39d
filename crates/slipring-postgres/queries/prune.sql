-- Purpose: removes what a queue may forget
-- Inputs: $1 queue, $2 now_ms, $3 how many messages at most
-- Lock: the queue's where there is something to remove, see functions/store/store_prune.sql
-- Index: see functions/store/store_prune.sql
SELECT removed::int8, next_ms::int8 FROM slipring.store_prune($1, $2, $3)
