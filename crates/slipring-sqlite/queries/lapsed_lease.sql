-- Purpose: the lease of the log that has lapsed first
-- Inputs: ?1 now
-- Lock: none
-- Index: lease_deadline
SELECT first_position FROM lease WHERE deadline_ms <= ?1 ORDER BY deadline_ms LIMIT 1
