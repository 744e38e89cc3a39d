-- Purpose: the items that are due
-- Inputs: ?1 now, ?2 at most so many
-- Lock: none
-- Index: item_due
SELECT id FROM item WHERE state = 0 AND turn <= ?1 ORDER BY turn LIMIT ?2
