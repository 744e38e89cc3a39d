-- Purpose: which queues there are, and when each was made and its settings were changed last
-- Inputs: none
-- Lock: none
-- Index: none, the whole table
SELECT queue_id::int8, created_ms::int8, modified_ms::int8
FROM slipring.queue
