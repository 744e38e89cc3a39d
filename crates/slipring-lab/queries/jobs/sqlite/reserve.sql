-- Purpose: marks a locked job as reserved.
-- Inputs: ?1 now in seconds, ?2 the key.
-- Lock: the row.
-- Index: the primary key.
UPDATE jobs SET reserved_at = ?1, attempts = attempts + 1 WHERE id = ?2
