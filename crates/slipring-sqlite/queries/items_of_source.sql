-- Purpose: the first items of a state that came from a queue
-- Inputs: ?1 queue_id, ?2 source, ?3 state, ?4 at most so many
-- Lock: none
-- Index: item_source
SELECT id
FROM item
WHERE queue_id = ?1 AND source IS NOT NULL AND source = ?2 AND state = ?3
ORDER BY turn, sent
LIMIT ?4
