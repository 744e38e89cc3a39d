-- Purpose: begins a transaction that looks at one state of the file
-- Inputs: none
-- Lock: none, not even against the writer
-- Index: none
BEGIN DEFERRED
