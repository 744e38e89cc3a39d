-- Purpose: the queues whose pause has an end
-- Inputs: none
-- Lock: none
-- Index: queue_pause
SELECT queue_id, paused_until_ms FROM queue WHERE paused_until_ms IS NOT NULL
