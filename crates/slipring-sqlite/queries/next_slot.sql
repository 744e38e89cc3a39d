-- Purpose: the turn of the first slot of a queue that is not empty
-- Inputs: ?1 queue_id, ?2 from this turn on
-- Lock: none
-- Index: item_order
SELECT min(turn) FROM item WHERE queue_id = ?1 AND state = 0 AND turn >= ?2
