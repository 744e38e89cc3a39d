-- Purpose: the first ready message of each queue
-- Inputs: $1 queues, $2 now_ms
-- Lock: a FIFO queue's, which is tried, see functions/store/store_heads.sql
-- Index: see functions/store/store_heads.sql
SELECT ord::int8, failing::bool, priority::int8, sent_ms::int8, id::int8 FROM slipring.store_heads($1, $2)
