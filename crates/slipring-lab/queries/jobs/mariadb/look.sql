-- Purpose: reads the first available jobs without a lock.
-- Inputs: the queue, now in seconds, what was reserved until then has expired, how many.
-- Lock: none.
-- Index: the planner's choice: the key in order, or that of the queue's name.
SELECT id, payload, version, delete_mark
FROM jobs
WHERE queue = ?
    AND ((reserved_at IS NULL AND available_at <= ?) OR reserved_at <= ?)
ORDER BY id
LIMIT ?
