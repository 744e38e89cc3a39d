-- Purpose: adds a job, available at once.
-- Inputs: ?1 the queue, ?2 the payload, ?3 now in seconds.
-- Lock: rows of its own.
-- Index: adds to both.
INSERT INTO jobs (queue, payload, attempts, available_at, created_at)
VALUES (?1, ?2, 0, ?3, ?3)
