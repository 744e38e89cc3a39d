-- Purpose: deletes a job; the version is not looked at, as published.
-- Inputs: the key.
-- Lock: the row.
-- Index: the primary key, and it takes the row out of the other.
DELETE FROM jobs WHERE id = ?
