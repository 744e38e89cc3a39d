-- Purpose: lets leases of connections that are gone lapse at once
-- Inputs: ?1 the first first_position that counts, ?2 at most so many
-- Lock: the write lock, held by the transaction
-- Index: the table's own; all calls together walk it once
UPDATE lease
SET deadline_ms = 0, session = 0
WHERE first_position IN (
    SELECT first_position FROM lease
    WHERE first_position >= ?1 AND session = 1
    ORDER BY first_position
    LIMIT ?2)
RETURNING first_position
