-- Purpose: which messages are left between two positions, with their bytes
-- Inputs: ?1 first position, ?2 last position
-- Lock: none
-- Index: primary key of message
SELECT position, length(body) + coalesce(extra_bytes, 0)
FROM message
WHERE position BETWEEN ?1 AND ?2
ORDER BY position
