-- Purpose: the published optimistic claim: reserves a job if its version is the one that was
--   read.
-- Inputs: $1 now in seconds, $2 the key, $3 the version.
-- Lock: the row.
-- Index: the primary key.
UPDATE jobs
SET reserved_at = $1, attempts = attempts + 1, version = version + 1
WHERE id = $2 AND version = $3
