-- Purpose: the items of a queue whose lease has lapsed
-- Inputs: ?1 queue_id, ?2 now, ?3 at most so many
-- Lock: none
-- Index: item_order
SELECT id FROM item WHERE queue_id = ?1 AND state = 2 AND turn <= ?2 ORDER BY turn LIMIT ?3
