-- Purpose: the first ready item of the next turn that has one
-- Inputs: ?1 queue_id, ?2 after this turn
-- Lock: none
-- Index: item_order
SELECT turn, sent
FROM item
WHERE queue_id = ?1 AND state = 1 AND turn > ?2
ORDER BY turn, sent
LIMIT 1
