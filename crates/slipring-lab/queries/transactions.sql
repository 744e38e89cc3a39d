-- Purpose: committed transactions of a database.
-- Inputs: $1 the database.
-- Lock: none.
-- Index: none.
SELECT xact_commit FROM pg_stat_database WHERE datname = $1::text
