-- Purpose: when the next item of a queue is due
-- Inputs: ?1 queue_id
-- Lock: none
-- Index: item_order
SELECT min(turn) FROM item WHERE queue_id = ?1 AND state = 0
