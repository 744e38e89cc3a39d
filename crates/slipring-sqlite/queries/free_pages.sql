-- Purpose: how many pages of the file are free to be used again
-- Inputs: none
-- Lock: none
-- Index: none
PRAGMA freelist_count
