-- Purpose: gives back what was claimed; it is ready at once, for the table knows no delays.
-- Inputs: $1 ids.
-- Lock: the rows changed.
-- Index: the primary key; job_ready grows.
UPDATE job SET ready = true, leased_until = NULL WHERE id = ANY ($1::bigint[])
