-- Purpose: a transaction that only reads, whose snapshot stays open until its session commits.
-- Inputs: none.
-- Lock: none.
-- Index: none.
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SELECT count(*) FROM pg_class;
