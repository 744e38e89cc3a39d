-- Purpose: reads a job before its delete, as the original did.
-- Inputs: ?1 the key.
-- Lock: none of its own.
-- Index: the primary key.
SELECT id, payload FROM jobs WHERE id = ?1
