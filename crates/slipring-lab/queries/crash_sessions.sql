-- Purpose: the sessions of a database, those first that are in the middle of something.
-- Inputs: $1 the database.
-- Lock: none.
-- Index: none.
SELECT pid, state <> 'idle' FROM pg_stat_activity
WHERE datname = $1::text AND backend_type = 'client backend' AND state IS NOT NULL
ORDER BY state = 'idle', pid
