-- Purpose: when the lease of the next item of a queue lapses
-- Inputs: ?1 queue_id
-- Lock: none
-- Index: item_order
SELECT min(turn) FROM item WHERE queue_id = ?1 AND state = 2
