-- Purpose: the lease of a lane that has lapsed first
-- Inputs: ?1 lane_id, ?2 now
-- Lock: none
-- Index: lease_deadline
SELECT first_position
FROM lease
WHERE first_position >> 32 = ?1 AND deadline_ms <= ?2
ORDER BY deadline_ms
LIMIT 1
