-- Purpose: how many items a queue has in each state, and their bytes
-- Inputs: ?1 queue_id
-- Lock: none
-- Index: primary key of item_count
SELECT ready, urgent, delayed, leased, parked, bytes FROM item_count WHERE queue_id = ?1
