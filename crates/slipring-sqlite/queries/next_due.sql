-- Purpose: when the next item is due
-- Inputs: none
-- Lock: none
-- Index: item_due
SELECT min(turn) FROM item WHERE state = 0
