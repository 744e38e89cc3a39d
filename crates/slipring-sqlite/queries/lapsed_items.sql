-- Purpose: the items whose lease has lapsed
-- Inputs: ?1 now, ?2 at most so many
-- Lock: none
-- Index: item_deadline
SELECT id FROM item WHERE state = 2 AND turn <= ?1 ORDER BY turn LIMIT ?2
