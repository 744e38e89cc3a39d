-- Purpose: a transaction that only reads, whose snapshot stays open until the session commits.
-- Inputs:  none
-- Lock:    none on tables of users
-- Index:   none
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SELECT count(*) FROM pg_class;
