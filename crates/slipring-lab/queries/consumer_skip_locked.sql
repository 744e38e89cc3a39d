-- Purpose: takes a batch out of the table for good, inside a transaction of the consumer's.
-- Inputs: $1 the queue, $2 how many.
-- Lock: the rows taken, to the commit; rows that others have locked are passed over.
-- Index: job_ready to find them, the primary key to delete them.
DELETE FROM job
WHERE id = ANY (ARRAY(
    SELECT id FROM job
    WHERE queue = $1::text AND ready
    ORDER BY id
    LIMIT $2::int
    FOR UPDATE SKIP LOCKED
))
RETURNING id, body
