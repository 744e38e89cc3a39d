-- Purpose: gives free pages at the end of the file back, and moves others there; one for each step
-- Inputs: none
-- Lock: the writer's transaction
-- Index: none
PRAGMA incremental_vacuum
