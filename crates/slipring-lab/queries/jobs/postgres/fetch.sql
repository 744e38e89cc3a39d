-- Purpose: reads and locks a job before its delete, as the original did.
-- Inputs: $1 the key.
-- Lock: the row.
-- Index: the primary key.
SELECT id, payload FROM jobs WHERE id = $1 FOR UPDATE
