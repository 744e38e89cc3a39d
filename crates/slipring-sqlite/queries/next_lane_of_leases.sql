-- Purpose: the next lane that has leases
-- Inputs: ?1 the lowest lane_id that counts
-- Lock: none
-- Index: lease_deadline
SELECT first_position >> 32 FROM lease
WHERE first_position >> 32 >= ?1
ORDER BY first_position >> 32
LIMIT 1
