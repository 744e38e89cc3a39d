-- Purpose: adds a job, available at once.
-- Inputs: the queue, the payload, now in seconds, twice.
-- Lock: rows of its own.
-- Index: adds to both.
INSERT INTO jobs (queue, payload, attempts, available_at, created_at)
VALUES (?, ?, 0, ?, ?)
