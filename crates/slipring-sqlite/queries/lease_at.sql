-- Purpose: the last lease that begins at or before a position
-- Inputs: ?1 position
-- Lock: none
-- Index: primary key of lease
SELECT first_position, last_position, leased_ms, deadline_ms, session
FROM lease
WHERE first_position <= ?1
ORDER BY first_position DESC
LIMIT 1
