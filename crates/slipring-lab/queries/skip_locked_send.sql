-- Purpose: sends a batch.
-- Inputs: $1 the queue, $2 bodies.
-- Lock: rows of its own.
-- Index: adds to both.
INSERT INTO job (queue, body) SELECT $1::text, unnest($2::bytea[])
