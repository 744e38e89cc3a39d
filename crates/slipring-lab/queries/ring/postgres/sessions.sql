-- Purpose: how many sessions of clients there are in a database.
-- Inputs: $1 the database.
-- Lock: none.
-- Index: none.
SELECT count(*) FROM pg_stat_activity
WHERE datname = $1::text AND backend_type = 'client backend'
