-- Purpose: the deadlocks that InnoDB has ended and the waits for its row locks, since the server
--   was started.
-- Inputs: none.
-- Lock: none.
-- Index: none; it reads the status of the server.
SELECT variable_name, CAST(variable_value AS UNSIGNED)
FROM information_schema.global_status
WHERE variable_name IN ('INNODB_DEADLOCKS', 'INNODB_ROW_LOCK_WAITS')
