-- Purpose: claims a batch: the oldest ready rows that nobody else is claiming.
-- Inputs: $1 the queue, $2 how many.
-- Lock: the rows claimed; rows that others have locked are passed over.
-- Index: job_ready to find them, the primary key to change them.
UPDATE job
SET ready = false, attempts = attempts + 1, leased_until = now() + interval '30 s'
WHERE id = ANY (ARRAY(
    SELECT id FROM job
    WHERE queue = $1::text AND ready
    ORDER BY id
    LIMIT $2::bigint
    FOR UPDATE SKIP LOCKED
))
RETURNING id, body, attempts
