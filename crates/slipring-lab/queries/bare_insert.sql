-- Purpose: sends a batch as one multi-row INSERT.
-- Inputs: $1 bodies.
-- Lock: rows of its own.
-- Index: none.
INSERT INTO bare (body) SELECT unnest($1::bytea[])
