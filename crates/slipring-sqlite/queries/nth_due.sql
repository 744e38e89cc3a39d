-- Purpose: when an item of a queue is due that has so many before it
-- Inputs: ?1 queue_id, ?2 before the turns of slots, ?3 so many
-- Lock: none
-- Index: item_order
SELECT turn
FROM item
WHERE queue_id = ?1 AND state = 0 AND turn < ?2
ORDER BY turn
LIMIT 1 OFFSET ?3
