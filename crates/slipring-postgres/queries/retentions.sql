-- Purpose: queues that forget messages
-- Inputs: $1 now_ms
-- Lock: none
-- Index: see functions/store/retentions.sql
SELECT queue::int8, retention_ms::int8, shelved FROM slipring.retentions($1)
