-- Purpose: lets leases of connections that are gone lapse at once
-- Inputs: ?1 at most so many
-- Lock: the write lock, held by the transaction
-- Index: lease_session
UPDATE lease
SET deadline_ms = 0, session = 0
WHERE first_position IN (SELECT first_position FROM lease WHERE session = 1 LIMIT ?1)
