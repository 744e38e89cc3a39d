-- Purpose: the groups that may give a message, by that message
-- Inputs: ?1 queue_id, ?2 at most so many
-- Lock: none
-- Index: fifo_group_open, then the primary key of item
SELECT g.head_sent, g.head_id, g.group_id, i.attempts
FROM fifo_group AS g
JOIN item AS i ON i.id = g.head_id
WHERE g.queue_id = ?1 AND g.head_id IS NOT NULL
ORDER BY g.head_sent, g.head_id
LIMIT ?2
