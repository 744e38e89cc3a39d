-- Purpose: all queues, by name
-- Inputs: none
-- Lock: none
-- Index: queue_name
SELECT queue_id, name, settings, created_ms, modified_ms FROM queue WHERE deleted = 0 ORDER BY name
