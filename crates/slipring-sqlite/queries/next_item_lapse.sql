-- Purpose: when the lease of the next item lapses
-- Inputs: none
-- Lock: none
-- Index: item_deadline
SELECT min(turn) FROM item WHERE state = 2
