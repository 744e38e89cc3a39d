-- Purpose: the first items of a slot, in the order in which they were sent
-- Inputs: ?1 queue_id, ?2 the turn of the slot, ?3 at most so many
-- Lock: none
-- Index: item_order
SELECT id FROM item WHERE queue_id = ?1 AND state = 0 AND turn = ?2 ORDER BY sent LIMIT ?3
