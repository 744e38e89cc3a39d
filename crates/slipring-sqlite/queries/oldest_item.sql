-- Purpose: when the first item of a queue was sent
-- Inputs: ?1 queue_id
-- Lock: none
-- Index: item_sent
SELECT min(sent) FROM item WHERE queue_id = ?1
