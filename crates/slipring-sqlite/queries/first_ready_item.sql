-- Purpose: the first item of a state between two turns
-- Inputs: ?1 queue_id, ?2 state, ?3 the first turn, ?4 the last
-- Lock: none
-- Index: item_order
SELECT priority, sent, id
FROM item
WHERE queue_id = ?1 AND state = ?2 AND turn BETWEEN ?3 AND ?4
ORDER BY turn, sent, id
LIMIT 1
