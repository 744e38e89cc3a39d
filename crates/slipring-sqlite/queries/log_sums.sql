-- Purpose: the first messages of a lane with their bytes, the bytes up to them, and when they were
--   sent
-- Inputs: ?1 first position, ?2 last position, ?3 at most so many
-- Lock: none
-- Index: primary key of message
SELECT position, length(body) + coalesce(extra_bytes, 0), bytes_sum, sent
FROM message
WHERE position BETWEEN ?1 AND ?2
ORDER BY position
LIMIT ?3
