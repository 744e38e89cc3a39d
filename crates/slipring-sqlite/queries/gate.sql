-- Purpose: what decides whether a queue hands out messages
-- Inputs: ?1 queue_id
-- Lock: none
-- Index: primary key of queue
SELECT fifo, paused, paused_until_ms FROM queue WHERE queue_id = ?1 AND deleted = 0
