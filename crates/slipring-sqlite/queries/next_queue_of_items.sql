-- Purpose: the next queue that has items
-- Inputs: ?1 the lowest queue_id that counts
-- Lock: none
-- Index: item_order
SELECT queue_id FROM item WHERE queue_id >= ?1 ORDER BY queue_id LIMIT 1
