-- Purpose: the first messages of a group
-- Inputs: ?1 group_id, ?2 at most so many
-- Lock: none
-- Index: item_fifo
SELECT id, state, attempts & 4294967295
FROM item
WHERE fifo_group_id IS NOT NULL AND fifo_group_id = ?1
ORDER BY sent, id
LIMIT ?2
