-- Purpose: the first message that a FIFO queue would hand out
-- Inputs: ?1 queue_id
-- Lock: none
-- Index: fifo_group_open, then the primary key of item
SELECT i.priority, g.head_sent, g.head_id
FROM fifo_group AS g
JOIN item AS i ON i.id = g.head_id
WHERE g.queue_id = ?1 AND g.head_id IS NOT NULL
ORDER BY g.head_sent, g.head_id
LIMIT 1
