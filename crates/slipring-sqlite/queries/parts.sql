-- Purpose: the parts of a load from a number on
-- Inputs: ?1 load_id, ?2 from this part, ?3 at most so many
-- Lock: none
-- Index: primary key of load_part
SELECT part, messages, checksum
FROM load_part
WHERE load_id = ?1 AND part >= ?2
ORDER BY part
LIMIT ?3
