-- Purpose: reads and locks the first available jobs that no other transaction has locked.
-- Inputs: the queue, now in seconds, what was reserved until then has expired, how many.
-- Lock: the rows read; those that others have locked are passed over.
-- Index: the planner's choice: the key in order, or that of the queue's name.
SELECT id, payload, version, delete_mark
FROM jobs
WHERE queue = ?
    AND ((reserved_at IS NULL AND available_at <= ?) OR reserved_at <= ?)
ORDER BY id
LIMIT ?
FOR UPDATE SKIP LOCKED
