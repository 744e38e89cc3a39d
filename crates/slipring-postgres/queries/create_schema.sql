-- Purpose: makes the schema that everything is in
-- Inputs: none
-- Lock: none
-- Index: none
CREATE SCHEMA slipring
