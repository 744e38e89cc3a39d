-- Purpose: how many pages the file has, with those of the transaction that runs
-- Inputs: none
-- Lock: none
-- Index: none
PRAGMA page_count
