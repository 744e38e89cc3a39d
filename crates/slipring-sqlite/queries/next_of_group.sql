-- Purpose: the next message of a group after one of them
-- Inputs: ?1 group_id, ?2 sent, ?3 id
-- Lock: none
-- Index: item_fifo
SELECT sent, id, fifo_group_id, attempts, state
FROM item
WHERE fifo_group_id IS NOT NULL AND fifo_group_id = ?1 AND (sent, id) > (?2, ?3)
ORDER BY sent, id
LIMIT 1
