-- Purpose: the first items of a state
-- Inputs: ?1 queue_id, ?2 state, ?3 the last turn, ?4 at most so many
-- Lock: none
-- Index: item_order
SELECT id
FROM item
WHERE queue_id = ?1 AND state = ?2 AND turn <= ?3
ORDER BY turn, sent, id
LIMIT ?4
