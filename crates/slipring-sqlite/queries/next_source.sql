-- Purpose: the next name of a queue from which items of a queue came
-- Inputs: ?1 queue_id, ?2 after this name
-- Lock: none
-- Index: item_source
SELECT source
FROM item
WHERE queue_id = ?1 AND source IS NOT NULL AND source > ?2
ORDER BY source
LIMIT 1
