-- Purpose: reads and locks the first available jobs, as the published pessimistic claim does.
-- Inputs: $1 the queue, $2 now in seconds, $3 what was reserved until then has expired, $4 how
--   many.
-- Lock: the rows read; those that others have locked are waited for.
-- Index: the planner's choice: the key in order, or that of the queue's name.
SELECT id, payload, version, delete_mark
FROM jobs
WHERE queue = $1
    AND ((reserved_at IS NULL AND available_at <= $2) OR reserved_at <= $3)
ORDER BY id
LIMIT $4
FOR UPDATE
