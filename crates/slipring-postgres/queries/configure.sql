-- Purpose: replaces a queue's settings
-- Inputs: $1 queue, $2 settings, $3 now_ms
-- Lock: the queue's, see functions/store_configure.sql
-- Index: primary key of queue
SELECT queue_id::int8, name, settings::jsonb, created_ms::int8, modified_ms::int8
FROM slipring.store_configure($1, $2, $3)
