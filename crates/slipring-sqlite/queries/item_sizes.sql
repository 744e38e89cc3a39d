-- Purpose: the items of a queue that were sent before a moment, with their bytes
-- Inputs: ?1 queue_id, ?2 sent, ?3 at most so many
-- Lock: none
-- Index: item_sent
SELECT id, bytes FROM item WHERE queue_id = ?1 AND sent < ?2 ORDER BY sent LIMIT ?3
