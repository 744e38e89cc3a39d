-- Purpose: the first message that a FIFO queue would hand out
-- Inputs: ?1 queue_id
-- Lock: none
-- Index: fifo_group_line, then the primary key of item
SELECT i.priority, i.sent, i.id
FROM fifo_group AS g
JOIN item AS i ON i.id = g.head_id
WHERE g.queue_id = ?1 AND g.turn IS NOT NULL
ORDER BY g.turn
LIMIT 1
