-- Purpose: the first item of a state
-- Inputs: ?1 queue_id, ?2 state
-- Lock: none
-- Index: item_order
SELECT priority, sent, id
FROM item
WHERE queue_id = ?1 AND state = ?2
ORDER BY turn, sent, id
LIMIT 1
