-- Purpose: queues of given numbers
-- Inputs: $1 the numbers; those that are none of a queue's count for nothing
-- Lock: none
-- Index: queue_pkey
SELECT queue_id::int8, name, settings::jsonb, created_ms::int8, modified_ms::int8
FROM slipring.queue
WHERE queue_id = ANY ($1::int4[])
