-- Purpose: the published optimistic claim: reserves a job if its version is the one that was
--   read.
-- Inputs: now in seconds, the key, the version.
-- Lock: the row.
-- Index: the primary key.
UPDATE jobs
SET reserved_at = ?, attempts = attempts + 1, version = version + 1
WHERE id = ? AND version = ?
