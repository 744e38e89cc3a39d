-- Purpose: adds jobs, available at once.
-- Inputs: $1 the queue, $2 now in seconds, $3 payloads.
-- Lock: rows of its own.
-- Index: adds to both.
INSERT INTO jobs (queue, payload, attempts, available_at, created_at)
SELECT $1, body, 0, $2, $2 FROM unnest($3::text[]) WITH ORDINALITY AS t (body, place)
ORDER BY place
