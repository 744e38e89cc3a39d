-- Purpose: begins a transaction of the writer
-- Inputs: none
-- Lock: the write lock, for the whole transaction
-- Index: none
BEGIN IMMEDIATE
