-- Purpose: the leases of a lane by deadline
-- Inputs: ?1 first position, ?2 last position, ?3 at most so many
-- Lock: none
-- Index: primary key of lease; sorts the open leases of one lane
SELECT first_position, last_position, leased_ms, deadline_ms, session
FROM lease
WHERE first_position BETWEEN ?1 AND ?2
ORDER BY deadline_ms
LIMIT ?3
