-- Purpose: marks a job as executed, so that it is not run again if its delete fails.
-- Inputs: ?1 the key.
-- Lock: the row.
-- Index: the primary key.
UPDATE jobs SET delete_mark = 1 WHERE id = ?1
