-- Purpose: when the next item of a queue is due that is in no slot
-- Inputs: ?1 queue_id, ?2 before the turns of slots
-- Lock: none
-- Index: item_order
SELECT min(turn) FROM item WHERE queue_id = ?1 AND state = 0 AND turn < ?2
