-- Purpose: the first message of a group
-- Inputs: ?1 group_id
-- Lock: none
-- Index: item_fifo
SELECT id, sent, state
FROM item
WHERE fifo_group_id IS NOT NULL AND fifo_group_id = ?1
ORDER BY sent, id
LIMIT 1
