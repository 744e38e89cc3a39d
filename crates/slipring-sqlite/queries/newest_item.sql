-- Purpose: when the last item of a queue was sent
-- Inputs: ?1 queue_id
-- Lock: none
-- Index: item_sent
SELECT max(sent) FROM item WHERE queue_id = ?1
