-- Purpose: a number that moves when another connection has changed the file
-- Inputs: none
-- Lock: none
-- Index: none
PRAGMA data_version
