-- Purpose: the first groups of the line
-- Inputs: ?1 queue_id, ?2 at most so many
-- Lock: none
-- Index: fifo_group_line
SELECT group_id FROM fifo_group WHERE queue_id = ?1 AND turn IS NOT NULL ORDER BY turn LIMIT ?2
