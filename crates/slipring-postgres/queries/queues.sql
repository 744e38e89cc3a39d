-- Purpose: all queues, by name
-- Inputs: none
-- Lock: none
-- Index: none, the whole table
SELECT queue_id::int8, name, settings::jsonb, created_ms::int8, modified_ms::int8
FROM slipring.store_queues()
ORDER BY name COLLATE "C"
