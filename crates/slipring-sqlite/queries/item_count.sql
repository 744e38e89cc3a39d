-- Purpose: how many items a queue has in each state, their bytes, and how many deliveries went past
--   failing ones
-- Inputs: ?1 queue_id
-- Lock: none
-- Index: primary key of item_count
SELECT ready, urgent, delayed, leased, parked, bytes, passed_over
FROM item_count
WHERE queue_id = ?1
