-- Purpose: sends a batch as one multi-row INSERT.
-- Inputs: $1 bodies.
-- Lock: rows of its own.
-- Index: adds to the primary key.
INSERT INTO indexed (body) SELECT unnest($1::bytea[])
