-- Purpose: marks a locked job as reserved.
-- Inputs: now in seconds, the key.
-- Lock: the row.
-- Index: the primary key.
UPDATE jobs SET reserved_at = ?, attempts = attempts + 1 WHERE id = ?
