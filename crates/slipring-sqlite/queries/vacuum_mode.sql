-- Purpose: whether pages of the file can be moved: 0 no, 2 when asked to
-- Inputs: none
-- Lock: none
-- Index: none
PRAGMA auto_vacuum
