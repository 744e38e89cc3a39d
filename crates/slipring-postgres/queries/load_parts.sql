-- Purpose: the parts of an open load from a number on
-- Inputs: $1 load, $2 from, $3 at most so many
-- Lock: none
-- Index: see functions/store/store_load_parts.sql
SELECT part, messages, checksum FROM slipring.store_load_parts($1, $2, $3)
