-- Purpose: ends a session at its next chance, which is between any two steps of a statement.
-- Inputs: $1 its process.
-- Lock: none.
-- Index: none.
SELECT pg_terminate_backend($1::int, 10000)
